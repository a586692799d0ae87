/** What somebody did to an endpoint's schedule, in a sentence, and the reason apart. */
import { duration } from "./duration";

type Told = { type: string; data: Record<string, unknown> };
export const AUTHORED = ["rule.fired", "rule.faulty", "hint.expired", "endpoint.parked", "backoff.applied"];

export function decisionWords({ type, data }: Told): string {
  const said = (name: string) =>
    typeof data[name] === "string" || typeof data[name] === "number" ? String(data[name]) : "";
  if (type === "rule.fired") return said("does") || "changed its schedule";
  if (type === "rule.faulty") return `the rule could not be judged: ${said("fault")}`;
  if (type === "hint.expired") return "hint expired, the baseline is back";
  if (type === "hint.cleared") return "hints cleared, the baseline is back";
  if (type === "hint.written")
    return Number(data.interval_ms) ? `every ${duration(Number(data.interval_ms))}` : "one extra run";
  if (type === "endpoint.paused") return "put to sleep";
  if (type === "endpoint.resumed") return "woken";
  if (type === "backoff.applied")
    return `backs off, for the last ${Number(data.failures) > 1 ? `${said("failures")} runs` : "run"} failed`;
  return type.replace(/[._]/g, " ");
}

export function decisionReason({ actor, data }: Told & { actor: string }): string {
  const reason = typeof data.reason === "string" ? data.reason : "";
  const rule = actor.startsWith("rule:") ? `rule ${actor.slice(5)}` : actor === "system" ? "" : actor;
  return [reason, rule].filter(Boolean).join(" · ");
}
