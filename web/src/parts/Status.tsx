/** A state or an outcome in one word, the same on every page. Plain elements: lists hold hundreds. */
import type { Endpoint } from "../api/types";
import { runMeaning, runTone, stateMeaning, stateTone, type Tone } from "../words/state";

export function Mark({ tone, word, meaning }: { tone: Tone; word: string; meaning?: string }) {
  return (
    <span className={word === "running" ? "mark pulse" : "mark"} data-tone={tone} title={meaning}>
      {word}
    </span>
  );
}

export function RunStatus({ status, code }: { status: string; code?: number | null }) {
  return <Mark tone={runTone(status)} word={code ? `${status} ${code}` : status} meaning={runMeaning(status)} />;
}

type Seen = Pick<Endpoint, "status" | "running" | "failure_count" | "interval_hint" | "one_shot_hint">;

/** The most telling word about an endpoint right now, and what it means. */
export function EndpointState({ endpoint }: { endpoint: Seen }) {
  const [tone, word, meaning] = told(endpoint);
  return <Mark tone={tone} word={word} meaning={meaning} />;
}

function told(endpoint: Seen) {
  if (endpoint.status !== "active") {
    // The server counts it among the failing ones.
    const isFailing = endpoint.failure_count > 0 && endpoint.status !== "archived";
    return [
      stateTone(endpoint.status),
      isFailing ? `${endpoint.status}, failing` : endpoint.status,
      stateMeaning(endpoint.status),
    ] as const;
  }
  if (endpoint.running?.callback)
    return ["calm", "waiting", "The target accepted the call. Its callback ends the run."] as const;
  if (endpoint.running) return ["calm", "running", "A call is in progress."] as const;
  if (endpoint.failure_count > 0) {
    const many =
      endpoint.failure_count === 1 ? "The last run failed." : `The last ${endpoint.failure_count} runs failed.`;
    return ["bad", "failing", many] as const;
  }
  if (endpoint.interval_hint || endpoint.one_shot_hint)
    return ["calm", "adapting", "A hint changes when it runs."] as const;
  return ["good", "active", stateMeaning("active")] as const;
}
