import { Badge } from "@mantine/core";
import type { Endpoint } from "../api/types";
import { COLOR, runMeaning, runTone, stateMeaning, stateTone } from "../words/state";

export function RunStatus({ status, code }: { status: string; code?: number | null }) {
  return (
    <Badge color={COLOR[runTone(status)]} className={status === "running" ? "pulse" : undefined} tt="none" title={runMeaning(status)}>
      {status}{code ? ` ${code}` : ""}
    </Badge>
  );
}

type Seen = Pick<Endpoint, "status" | "running" | "failure_count" | "interval_hint" | "one_shot_hint">;

/** The most telling word about an endpoint right now, and what it means. */
export function EndpointState({ endpoint }: { endpoint: Seen }) {
  const [tone, word, meaning] = told(endpoint);
  return <Badge color={COLOR[tone]} tt="none" className={word === "running" ? "pulse" : undefined} title={meaning}>{word}</Badge>;
}

function told(endpoint: Seen) {
  if (endpoint.status !== "active") return [stateTone(endpoint.status), endpoint.status, stateMeaning(endpoint.status)] as const;
  if (endpoint.running) return ["calm", "running", "A call is under way."] as const;
  if (endpoint.failure_count > 0) {
    const many = endpoint.failure_count === 1 ? "The last run failed." : `The last ${endpoint.failure_count} runs failed.`;
    return ["bad", "failing", many] as const;
  }
  if (endpoint.interval_hint || endpoint.one_shot_hint) return ["calm", "adapting", "A hint changes when it runs."] as const;
  return ["good", "active", stateMeaning("active")] as const;
}
