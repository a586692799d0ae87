/** When an endpoint runs next; while the run of its slot is under way, that. */
import type { Endpoint } from "../api/types";
import { useClock } from "../time/clock";
import { isForever } from "../time/format";
import { When } from "../time/When";

type Seen = Pick<Endpoint, "status" | "running" | "next_run_at" | "paused_until">;

/** Where the end of a pause is known, that is when it runs next. */
export function nextRunOf(endpoint: Seen): string | null {
  if (endpoint.status === "active") return endpoint.next_run_at;
  return endpoint.status === "paused" && !isForever(endpoint.paused_until) ? endpoint.paused_until : null;
}

export function NextRun({ endpoint }: { endpoint: Seen }) {
  const at = nextRunOf(endpoint);
  const isDue = useClock((nowMs) => (at && Date.parse(at) <= nowMs ? 1 : 0));
  if (endpoint.running?.callback) return <span>after the callback</span>;
  return endpoint.status === "active" && endpoint.running && isDue ? (
    <span>running</span>
  ) : (
    <When at={at} none="not planned" />
  );
}
