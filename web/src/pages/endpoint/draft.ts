/** An endpoint as it stands in the form, and as it is sent. */
import type { Endpoint, EndpointNew } from "../../api/types";
import { duration } from "../../words/duration";

export type Draft = {
  name: string; job: string; description: string; method: string; url: string; kind: "interval" | "cron"; interval: string; cron: string; timezone: string;
  headers: { name: string; value: string; secret: boolean }[]; body: string; timeout: string; acceptCodes: string; condition: string;
  minInterval: string; maxInterval: string; backoff: string; misfire: string; advice: string[];
};

export const EMPTY: Draft = {
  name: "", job: "default", description: "", method: "GET", url: "", kind: "interval", interval: "5m", cron: "0 9 * * *", timezone: "UTC",
  headers: [], body: "", timeout: "30s", acceptCodes: "", condition: "", minInterval: "", maxInterval: "", backoff: "default", misfire: "run_once", advice: ["interval", "run", "wake", "pause", "siblings"],
};

const written = (ms: number | null): string => (ms === null ? "" : duration(ms));

export function draftOf(endpoint: Endpoint): Draft {
  return {
    name: endpoint.name, job: endpoint.job, description: endpoint.description, method: endpoint.method, url: endpoint.url,
    kind: endpoint.cron === null ? "interval" : "cron", interval: written(endpoint.interval_ms) || EMPTY.interval, cron: endpoint.cron ?? EMPTY.cron, timezone: endpoint.timezone,
    headers: endpoint.headers.map(({ name, value, secret }) => ({ name, value, secret })), body: endpoint.body ?? "", timeout: duration(endpoint.timeout_ms),
    acceptCodes: endpoint.accept_codes.join(", "), condition: endpoint.condition ?? "", minInterval: written(endpoint.min_interval_ms), maxInterval: written(endpoint.max_interval_ms),
    backoff: endpoint.backoff, misfire: endpoint.misfire, advice: endpoint.advice,
  };
}

/** Durations go as they were written: the server reads them, and says what is wrong with them. */
export function wishOf(draft: Draft): EndpointNew {
  const orNull = (value: string) => value.trim() || null;
  const schedule = draft.kind === "interval" ? { interval_ms: draft.interval.trim() } : { cron: draft.cron.trim() };
  const codes = draft.acceptCodes.split(/[\s,]+/).filter(Boolean);
  const wish = {
    name: draft.name.trim(), job: draft.job.trim() || "default", description: draft.description, method: draft.method, url: draft.url.trim(),
    ...schedule, timezone: orNull(draft.timezone), headers: draft.headers.filter((each) => each.name.trim()),
    body: ["GET", "HEAD"].includes(draft.method) ? null : draft.body || null, timeout_ms: orNull(draft.timeout),
    accept_codes: codes.map((each) => (/^\d+$/.test(each) ? Number(each) : each)), condition: orNull(draft.condition),
    min_interval_ms: orNull(draft.minInterval), max_interval_ms: orNull(draft.maxInterval), backoff: draft.backoff, misfire: draft.misfire, advice: draft.advice,
  };
  return wish as unknown as EndpointNew;
}
