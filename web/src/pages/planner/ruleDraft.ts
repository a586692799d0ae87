/** A rule as it stands in the form, and as it is sent. */
import type { RuleDocument } from "../../api/planner";

export const DOES = ["interval", "run", "pause", "resume", "clear_hints"] as const;
export type Does = (typeof DOES)[number];
export type RuleDraft = {
  name: string;
  when: string;
  for: number;
  does: Does[];
  interval: string;
  ttl: string;
  run: string;
  pause: string;
  target: string;
  cooldown: string;
  reason: string;
};

const said = (value: unknown): string => (value === undefined || value === null ? "" : String(value));

export function ruleDraftOf(rule: RuleDocument = {}): RuleDraft {
  const does = DOES.filter((key) => key in rule);
  return {
    name: said(rule.name),
    when: said(rule.when),
    for: Number(rule.for ?? 1),
    does: does.length ? does : ["interval"],
    interval: said(rule.interval) || "30s",
    ttl: said(rule.ttl) || "10m",
    run: said(rule.run) || "now",
    pause: said(rule.pause) || "10m",
    target: said(rule.target),
    cooldown: said(rule.cooldown),
    reason: said(rule.reason),
  };
}

export function ruleOf(draft: RuleDraft): RuleDocument {
  const optional = (name: "name" | "target" | "cooldown" | "reason") =>
    draft[name].trim() ? { [name]: draft[name].trim() } : {};
  const does: Record<Does, RuleDocument> = {
    interval: { interval: draft.interval.trim(), ...(draft.ttl.trim() ? { ttl: draft.ttl.trim() } : {}) },
    run: { run: draft.run.trim() },
    pause: { pause: draft.pause.trim() },
    resume: { resume: true },
    clear_hints: { clear_hints: true },
  };
  return {
    ...optional("name"),
    when: draft.when.trim(),
    ...(draft.for > 1 ? { for: draft.for } : {}),
    ...(Object.assign({}, ...draft.does.map((each) => does[each])) as RuleDocument),
    ...optional("target"),
    ...optional("cooldown"),
    ...optional("reason"),
  };
}
