/** Failed runs, put together by endpoint. */
import type { Run } from "../../api/types";

type Failed = Pick<Run, "id" | "endpoint_id" | "endpoint">;
export type Failing<Each extends Failed = Run> = { id: string; name: string; count: number; last: Each };

/** One entry for each endpoint, the one that failed last first; `runs` may come in any order. */
export function byEndpoint<Each extends Failed>(runs: Each[]): Failing<Each>[] {
  const found = new Map<string, Failing<Each>>();
  for (const run of [...runs].sort((a, b) => (a.id < b.id ? 1 : -1))) {
    const known = found.get(run.endpoint_id);
    if (known) known.count += 1;
    else found.set(run.endpoint_id, { id: run.endpoint_id, name: run.endpoint, count: 1, last: run });
  }
  return [...found.values()];
}
