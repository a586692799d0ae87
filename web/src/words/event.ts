/** What happened, as a sentence fragment after the endpoint's name. */
import type { EventShown } from "../api/types";
import { duration } from "./duration";
import { sourceWords } from "./state";

const PLAIN: Record<string, string> = {
  "run.started": "started",
  "run.timeout": "passed its deadline",
  "run.abandoned": "lost its worker",
  "run.superseded": "had a late result that changed nothing",
  "run.missed": "missed slots",
  "schedule.late": "is late",
  "clock.stepped": "the database's clock was set",
  "clock.differs": "a worker's clock differs from the database's",
  "clock.repaired": "a stopped workflow partition was repaired",
  "manual_run.requested": "was asked to run now",
  "manual_run.started": "started the requested run",
  "hint.expired": "hint expired, the baseline is back",
  "hint.cleared": "hints cleared, the baseline is back",
  "failures.reset": "failures reset",
  "endpoint.created": "created",
  "endpoint.updated": "changed",
  "endpoint.paused": "paused",
  "endpoint.resumed": "resumed",
  "endpoint.parked": "parked after losing its worker too often",
  "endpoint.archived": "archived",
  "endpoint.deleted": "deleted",
  "endpoint.faulty": "failed inside and was pushed ahead",
  "planner.analysed": "was looked at by the model",
  "quota.deferred": "waits: the runs of the month are used up",
};

/** What endpoints wait for: `12 endpoints wait for host gateway:80 (limit 50)`. */
function waitWords(cause: string, name: string, limit: string, waiting: string): string {
  const many = waiting === "1" ? "1 endpoint waits" : `${waiting} endpoints wait`;
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
  slow: ["a place for slow runs", "limit"],
  new: ["a place for first runs", "limit"],
  places: ["a place", "limit"],
};

export function eventWords(event: Pick<EventShown, "type" | "data">): string {
  const said = (name: string): string => {
    const value = event.data[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const [subject, act] = event.type.split(".").map((part) => part.replaceAll("_", " "));
  switch (event.type) {
    case "run.finished":
      return `ended: ${said("status") || "done"}${said("status_code") ? ` (${said("status_code")})` : ""}`;
    case "schedule.updated":
      return `next run moved${said("source") ? `, set by the ${sourceWords(said("source"))}` : ""}`;
    case "hint.written": {
      const every = Number(event.data.interval_ms);
      return `hint: ${every ? `every ${duration(every)}` : "one extra run"}${said("reason") ? `, because ${said("reason")}` : ""}`;
    }
    case "schedule.waiting":
      return waitWords(said("cause"), said("name"), said("limit"), said("waiting"));
    case "backoff.applied":
      return `backs off${said("failures") ? `, for the last ${said("failures") === "1" ? "run" : `${said("failures")} runs`} failed` : ""}`;
    case "workflow.published":
      return `workflow ${said("workflow")} published`;
    case "workflow.archived":
      return `workflow ${said("workflow")} archived`;
    case "workflow.restored":
      return `workflow ${said("workflow")} restored`;
    case "execution.started":
      return `execution of ${said("workflow")} started`;
    case "execution.ordered":
      return `execution: ${said("verb")}${said("reason") ? `, because ${said("reason")}` : ""}`;
    case "execution.failed":
      return `execution of ${said("workflow")} failed at ${said("step")} and waits for a person`;
    case "execution.event_ignored":
      return `execution of ${said("workflow")} refused the event ${said("event")}: ${said("reason")}`;
    case "executions.late":
      return `${said("count")} executions of workflows are overdue`;
    case "executions.on_time":
      return "no execution of a workflow is overdue any more";
    case "execution.ended":
      return `execution of ${said("workflow")} ${said("status") === "cancelled" ? "cancelled" : "ended"}${said("outcome") ? `: ${said("outcome")}` : ""}`;
    case "rule.fired":
      return `${said("does") || "changed"}${said("reason") ? `, because ${said("reason")}` : ""}`;
    case "rule.faulty":
      return `had a rule that could not be judged: ${said("fault")}`;
    case "rules.changed":
      return "has other rules";
    case "proposal.created":
      return `has a proposal: ${said("does")}${said("reason") ? `, because ${said("reason")}` : ""}`;
    case "proposal.approved":
      return `proposal approved: ${said("does")}`;
    case "proposal.rejected":
      return `proposal rejected: ${said("does")}${said("note") ? `, because ${said("note")}` : ""}`;
    case "proposal.expired":
      return `proposal expired: ${said("does")}`;
    case "proposal.withdrawn":
      return `proposal withdrawn: ${said("does")}${said("note") ? `, because ${said("note")}` : ""}`;
    case "planner.mode_set":
      return `planner set to ${said("mode")}`;
    case "endpoint.paused":
      return `paused${said("reason") ? `: ${said("reason")}` : ""}`;
    default:
      return PLAIN[event.type] ?? [subject, said("name") || said("subject"), act].filter(Boolean).join(" ");
  }
}
