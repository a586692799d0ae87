/** Which readings an event makes old. Everything else on the page stays as it is. */
import type { EventShown } from "./types";

export type Told = Pick<EventShown, "type" | "endpoint" | "endpoint_id" | "run_id" | "data">;

const OF_ENDPOINTS = new Set([
  "run",
  "manual_run",
  "endpoint",
  "hint",
  "schedule",
  "backoff",
  "failures",
  "quota",
  "advice",
  "proposal",
  "job",
  "rule",
  "rules",
  "planner",
  "configuration",
  "maintenance",
  "calendar",
  "clock",
]);
const COUNTED = new Set([
  "run",
  "manual_run",
  "endpoint",
  "hint",
  "schedule",
  "backoff",
  "failures",
  "quota",
  "job",
  "configuration",
  "clock",
]);
const OF_PLANNER = new Set(["rule", "rules", "planner", "hint", "advice", "proposal", "quota", "configuration"]);
const OF_FLOWS = new Set(["execution", "executions", "workflow", "trigger", "configuration"]);

/** Whether the event is about this endpoint, given by id or name; one without an endpoint may be about any. */
function isAbout(event: Told, endpoint: unknown): boolean {
  return !endpoint || !event.endpoint_id || event.endpoint_id === endpoint || event.endpoint === endpoint;
}

function concernsRuns(event: Told, subject: string, [, what, of, endpoint]: readonly unknown[]): boolean {
  if (subject !== "run" && subject !== "manual_run") return event.type === "endpoint.deleted" && what === "list";
  if (what === "list") return isAbout(event, (of as { endpoint?: string }).endpoint);
  if (what === "one") return event.run_id === of;
  if (what === "recent") return !event.endpoint_id || (of as string[]).includes(event.endpoint_id);
  return what === "neighbours" && isAbout(event, endpoint);
}

function concernsFlows(event: Told, subject: string, [, what, of]: readonly unknown[]): boolean {
  if (!OF_FLOWS.has(subject)) return false;
  if (what === "execution") return event.data.execution === of;
  if (what === "executions") return subject.startsWith("execution") || subject === "workflow";
  return (what === "workflows" || what === "workflow" || what === "versions") && !subject.startsWith("execution");
}

function concernsSettings(event: Told, subject: string, [, what]: readonly unknown[]): boolean {
  if (what === "deliveries") return true; // any event may be sent to a webhook
  if (what === "alerts" || what === "webhooks") return ["alert", "webhook", "configuration"].includes(subject);
  if (what === "maintenance") return ["maintenance", "configuration"].includes(subject);
  if (what === "calendars" || what === "calendar") return ["calendar", "endpoint", "configuration"].includes(subject);
  if (what === "connections" || what === "connection")
    return ["connection", "endpoint", "configuration"].includes(subject);
  if (what === "usage") return ["run", "planner", "quota", "endpoint"].includes(subject);
  if (what === "plan" || what === "delivery") return false;
  if (what === "audit")
    return !["run", "schedule", "backoff", "hint"].includes(subject) || event.type === "hint.written";
  return !OF_ENDPOINTS.has(subject) && !OF_FLOWS.has(subject);
}

/**
 * `key` is a query's key: its first part names the subject, the second what is read of it. Lists of events follow the
 * stream.
 */
export function concerns(event: Told, key: readonly unknown[]): boolean {
  const subject = event.type.split(".")[0] ?? "";
  const [of, what, which] = key;
  if (of === "endpoints") {
    if (!OF_ENDPOINTS.has(subject) || what === "rehearsal") return false;
    return what === "list" || isAbout(event, which);
  }
  if (of === "runs") return concernsRuns(event, subject, key);
  if (of === "dashboard") return what !== "workers" && COUNTED.has(subject);
  if (of === "calls") return ["calls", "run", "endpoint"].includes(subject);
  if (of === "jobs")
    return (
      subject === "job" || subject === "configuration" || (subject === "endpoint" && event.type !== "endpoint.updated")
    );
  if (of === "flows") return concernsFlows(event, subject, key);
  if (of === "planner") return OF_PLANNER.has(subject) && what !== "rehearsal";
  return of === "settings" && concernsSettings(event, subject, key);
}

type Place = { cursor: string };

/** By what a cursor counts: its numbers, one after the other. */
function compare(a: Place, b: Place): number {
  const [left, right] = [a.cursor, b.cursor].map((cursor) => cursor.split(/[.:]/).map(Number)) as [number[], number[]];
  for (let place = 0; place < Math.max(left.length, right.length); place += 1) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0);
    if (difference) return difference;
  }
  return 0;
}

/** The newest `limit` of what was read and what the stream told since, each once, oldest first. */
export function joined<Event extends Place>(read: Event[], told: Event[], limit: number): Event[] {
  const known = new Set(read.map((each) => each.cursor));
  const fresh = told.filter((each) => !known.has(each.cursor));
  return fresh.length ? [...read, ...fresh].sort(compare).slice(-limit) : read;
}
