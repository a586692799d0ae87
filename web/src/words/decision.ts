/** What a person, rule or model did to an endpoint's schedule, as a phrase, and the reason apart. */
import { duration } from "./duration";
import { backoffWords, eventWords } from "./event";

type Change = { type: string; data: Record<string, unknown> };
export const AUTHORED = ["rule.fired", "rule.faulty", "hint.expired", "endpoint.parked", "backoff.applied"];

export function decisionWords({ type, data }: Change): string {
  const said = (name: string) =>
    typeof data[name] === "string" || typeof data[name] === "number" ? String(data[name]) : "";
  switch (type) {
    case "rule.fired":
      return said("does") || "schedule changed";
    case "hint.written":
      return Number(data.interval_ms) ? `every ${duration(Number(data.interval_ms))}` : "one extra run";
    case "endpoint.paused":
      return "paused";
    case "backoff.applied":
      return backoffWords(said("failures"));
    default:
      return eventWords({ type, data });
  }
}

export function decisionReason({ actor, data }: Change & { actor: string }): string {
  const reason = typeof data.reason === "string" ? data.reason : "";
  const rule = actor.startsWith("rule:") ? `rule ${actor.slice(5)}` : actor === "system" ? "" : actor;
  return [reason, rule].filter(Boolean).join(" · ");
}
