/** What happened, as a phrase after the endpoint's name. The phrases are the API's; here they get their details. */
import type { EventShown } from "../api/types";
import { duration } from "./duration";
import labels from "./labels.json";
import { sourceWords } from "./state";

export type EventType = keyof typeof labels.events;
export const EVENT_TYPES = Object.keys(labels.events) as EventType[];

/** The API's phrase for an event or an entry of the audit trail. */
export const phraseOf = (type: string): string =>
  (labels.events as Record<string, string>)[type] ?? type.replaceAll("_", " ").replace(".", " ");

/** What endpoints wait for: `12 endpoints are waiting for host gateway:80 (limit 50)`. */
function waitWords(cause: string, name: string, limit: string, waiting: string): string {
  const many = waiting === "1" ? "1 endpoint is waiting" : `${waiting} endpoints are waiting`;
  const [what, unit] = AWAITED[cause] ?? [cause, ""];
  return `${many} for ${what}${name ? ` ${name}` : ""}${unit ? ` (${unit} ${limit})` : ""}`;
}

const AWAITED: Record<string, [string, string]> = {
  scheduler: ["a scheduler", ""],
  host: ["host", "limit"],
  rate: ["host", "rate"],
  tenant: ["tenant", "limit"],
  tenant_slow: ["slow runs of tenant", "limit"],
  tenant_new: ["first runs of tenant", "limit"],
  slow: ["a slot for slow runs", "limit"],
  new: ["a slot for first runs", "limit"],
  places: ["a free slot", "limit"],
};

/** "backing off after 3 failed runs". */
export const backoffWords = (failures: string): string => {
  if (!failures) return "backing off";
  return failures === "1" ? "backing off after a failed run" : `backing off after ${failures} failed runs`;
};

const ALERTED: Record<string, string> = { failing: "is failing", recovered: "has recovered", late: "is late" };

type Said = (name: string) => string;
const after = (said: string, separator = ": "): string => (said ? `${separator}${said}` : "");

/** The details of some types, joined to the phrase. Every other type is the phrase with the name of its subject. */
const DETAILS: Partial<Record<EventType, (phrase: string, said: Said, data: EventShown["data"]) => string>> = {
  "run.finished": (phrase, said) =>
    `${phrase}${after(said("status"))}${said("status_code") ? ` (${said("status_code")})` : ""}`,
  "run.retried": (phrase, said) => `${phrase}${said("status_code") ? ` (${said("status_code")})` : ""}`,
  "schedule.updated": (phrase, said) =>
    `${phrase}${said("source") ? `, set by the ${sourceWords(said("source"))}` : ""}`,
  "schedule.waiting": (_, said) => waitWords(said("cause"), said("name"), said("limit"), said("waiting")),
  "backoff.applied": (_, said) => backoffWords(said("failures")),
  "hint.written": (phrase, said, data) => {
    const every = Number(data.interval_ms);
    return `${phrase}: ${every ? `every ${duration(every)}` : "one extra run"}${after(said("reason"), " – ")}`;
  },
  "workflow.published": (_, said) => `workflow ${said("workflow")} published`,
  "workflow.archived": (_, said) => `workflow ${said("workflow")} archived`,
  "workflow.restored": (_, said) => `workflow ${said("workflow")} restored`,
  "execution.started": (_, said) => `execution of ${said("workflow")} started`,
  "execution.ordered": (_, said) => `execution: ${said("verb")}${after(said("reason"), " – ")}`,
  "execution.failed": (_, said) => `execution of ${said("workflow")} failed at step ${said("step")}`,
  "execution.event_ignored": (_, said) =>
    `execution of ${said("workflow")} ignored the event ${said("event")}${after(said("reason"))}`,
  "execution.ended": (_, said) => {
    const ending = said("status") === "cancelled" ? "cancelled" : "ended";
    return `execution of ${said("workflow")} ${ending}${after(said("outcome"))}`;
  },
  "executions.late": (phrase, said) => `${said("count")} ${phrase}`,
  "alert.fired": (phrase, said) => {
    const kind = said("kind");
    return `${phrase}: ${said("subject")} ${ALERTED[kind] ?? kind.replaceAll("_", " ")}`;
  },
  "rule.fired": (phrase, said) => `${said("does") || phrase}${after(said("reason"), " – ")}`,
  "rule.faulty": (phrase, said) => `${phrase}${after(said("fault"))}`,
  "proposal.created": (phrase, said) => `${phrase}${after(said("does"))}${after(said("reason"), " – ")}`,
  "proposal.approved": (phrase, said) => `${phrase}${after(said("does"))}`,
  "proposal.rejected": (phrase, said) => `${phrase}${after(said("does"))}${after(said("note"), " – ")}`,
  "proposal.expired": (phrase, said) => `${phrase}${after(said("does"))}`,
  "proposal.withdrawn": (phrase, said) => `${phrase}${after(said("does"))}${after(said("note"), " – ")}`,
  "planner.mode_set": (phrase, said) => `${phrase}${after(said("mode"), " to ")}`,
  "endpoint.paused": (phrase, said) => `${phrase}${after(said("reason"))}`,
};

export function eventWords(event: Pick<EventShown, "type" | "data">): string {
  const said = (name: string): string => {
    const value = event.data[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const phrase = phraseOf(event.type);
  const details = DETAILS[event.type as EventType];
  return details ? details(phrase, said, event.data) : named(phrase, said("name") || said("subject"));
}

/** "job created" and a name are "job night_shift created": the name goes before the verb. */
function named(phrase: string, name: string): string {
  if (!name) return phrase;
  const words = phrase.split(" ");
  return words.length === 1 ? `${phrase} ${name}` : [...words.slice(0, -1), name, words.at(-1)].join(" ");
}
