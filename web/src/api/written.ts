/** Which parts of the API were written to, and so what an action made old. */

/** The first parts of query keys that a write below a path of the API changes. */
const CHANGES: Record<string, string[]> = {
  alerts: ["settings"],
  auth: ["session", "settings"],
  backtests: [],
  bulk: ["endpoints", "calls", "runs", "dashboard", "planner"],
  calendars: ["settings", "endpoints", "dashboard"],
  calls: ["calls", "runs", "jobs", "dashboard"],
  connections: ["settings", "endpoints"],
  deliveries: ["settings"],
  endpoints: ["endpoints", "calls", "runs", "dashboard", "jobs", "planner"],
  executions: ["flows"],
  jobs: ["jobs", "endpoints", "calls", "dashboard"],
  keys: ["settings"],
  maintenance: ["settings", "endpoints", "dashboard"],
  members: ["session", "settings"],
  planner: ["planner", "endpoints", "dashboard"],
  proposals: ["planner", "endpoints", "dashboard"],
  quotas: ["settings", "endpoints"],
  rules: ["planner", "endpoints"],
  sessions: ["planner"],
  "signing-keys": ["settings"],
  simulations: [],
  tenants: ["session", "settings"],
  users: ["session", "settings"],
  webhooks: ["settings"],
  workflows: ["flows"],
};
const TRAIL = ["events", "audit"]; // every write may add to them
/** A version of a workflow and the bytes of a body never change; previews are read when they are asked for. */
const NEVER_OLD = new Set(["graph", "diff", "bytes", "rehearsal"]);
const NEVER_OLD_SUBJECTS = new Set(["simulations", "rehearsal", "bulk", "link"]);

let written = new Set<string>();

/** Remember where a request writes to; one that only reads or is a dry run writes nothing. */
export function noteWritten({ method, url }: Pick<Request, "method" | "url">): void {
  const { pathname, searchParams } = new URL(url);
  if (method === "GET" || searchParams.get("dry_run") === "true") return;
  const subject = pathname.replace("/api/v1/", "").split("/")[0];
  if (subject) written.add(subject);
}

/** What was written to since this was last called. */
export function takeWritten(): ReadonlySet<string> {
  const found = written;
  written = new Set();
  return found;
}

/** Whether a write to these parts may have changed what a query read; a part that is not known may change anything. */
export function mayHaveChanged(parts: ReadonlySet<string>, [subject, what]: readonly unknown[]): boolean {
  if (NEVER_OLD_SUBJECTS.has(String(subject)) || NEVER_OLD.has(String(what))) return false;
  if (TRAIL.includes(String(subject)) || TRAIL.includes(String(what))) return parts.size > 0;
  return [...parts].some((part) => CHANGES[part]?.includes(String(subject)) ?? true);
}
