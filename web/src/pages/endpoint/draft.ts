/** An endpoint as the form holds it, and as it is sent. Every setting that the API takes has its place in both. */
import type { Endpoint, EndpointNew } from "../../api/types";
import { duration } from "../../words/duration";

export const MASK = "••••"; // the API shows it in place of a secret

export type HeaderDraft = { name: string; value: string; secret: boolean };
export type Field = keyof EndpointNew;
export type Method = NonNullable<EndpointNew["method"]>;

export type Draft = {
  name: string;
  job: string;
  description: string;
  runbook: string;
  method: Method;
  url: string;
  kind: "interval" | "cron";
  interval: string;
  cron: string;
  timezone: string;
  headers: HeaderDraft[];
  body: string;
  timeout: string;
  redirectsMax: string;
  bodyCap: string;
  acceptCodes: string;
  condition: string;
  minInterval: string;
  maxInterval: string;
  jitter: string;
  spread: boolean;
  backoff: string;
  misfire: string;
  catchUpMax: string;
  maxLateness: string;
  onLostWorker: string;
  advice: string[];
};

export const EMPTY: Draft = {
  name: "",
  job: "default",
  description: "",
  runbook: "",
  method: "GET",
  url: "",
  kind: "interval",
  interval: "5m",
  cron: "0 9 * * *",
  timezone: "UTC",
  headers: [],
  body: "",
  timeout: "30s",
  redirectsMax: "0",
  bodyCap: "100000",
  acceptCodes: "",
  condition: "",
  minInterval: "",
  maxInterval: "",
  jitter: "0s",
  spread: true,
  backoff: "default",
  misfire: "run_once",
  catchUpMax: "10",
  maxLateness: "",
  onLostWorker: "retry",
  advice: ["interval", "run", "wake", "pause", "siblings"],
};

/** By method, whether it sends a body. A method that the API learns fails the type check here until it has its row. */
const SENDS_BODY: Record<Method, boolean> = {
  GET: false,
  HEAD: false,
  POST: true,
  PUT: true,
  PATCH: true,
  DELETE: true,
  OPTIONS: true,
};
export const METHODS = Object.keys(SENDS_BODY) as Method[];
export const sendsBody = (draft: Draft): boolean => SENDS_BODY[draft.method];

const written = (ms: number | null): string => (ms === null ? "" : duration(ms));

export function draftOf(endpoint: Endpoint): Draft {
  return {
    name: endpoint.name,
    job: endpoint.job,
    description: endpoint.description,
    runbook: endpoint.runbook,
    method: METHODS.find((each) => each === endpoint.method) ?? "GET",
    url: endpoint.url,
    kind: endpoint.cron === null ? "interval" : "cron",
    interval: written(endpoint.interval_ms) || EMPTY.interval,
    cron: endpoint.cron ?? EMPTY.cron,
    timezone: endpoint.timezone,
    headers: endpoint.headers.map(({ name, value, secret }) => ({ name, value, secret })),
    body: endpoint.body ?? "",
    timeout: duration(endpoint.timeout_ms),
    redirectsMax: String(endpoint.redirects_max),
    bodyCap: String(endpoint.body_cap),
    acceptCodes: endpoint.accept_codes.join(", "),
    condition: endpoint.condition ?? "",
    minInterval: written(endpoint.min_interval_ms),
    maxInterval: written(endpoint.max_interval_ms),
    jitter: duration(endpoint.jitter_ms),
    spread: endpoint.spread,
    backoff: endpoint.backoff,
    misfire: endpoint.misfire,
    catchUpMax: String(endpoint.catch_up_max),
    maxLateness: written(endpoint.max_lateness_ms),
    onLostWorker: endpoint.on_lost_worker,
    advice: endpoint.advice,
  };
}

/** A copy has every setting but the secrets: nobody can read those. */
export function copyOf(endpoint: Endpoint): Draft {
  const draft = draftOf(endpoint);
  const headers = draft.headers.map((each) => (each.value === MASK ? { ...each, value: "" } : each));
  return { ...draft, name: `${endpoint.name} copy`, headers };
}

export type MissingSecret = { field: "url" | "headers"; name: string };

/** The secrets that a copy of an endpoint does not have until a person enters them. */
export function secretsToEnter(draft: Draft): MissingSecret[] {
  const headers = draft.headers.filter((each) => each.secret && each.name.trim() && !each.value);
  return [
    ...(draft.url.includes(MASK) ? [{ field: "url" as const, name: "the URL's query string" }] : []),
    ...headers.map((each) => ({ field: "headers" as const, name: each.name })),
  ];
}

const orNull = (text: string): string | null => text.trim() || null;

/** A whole number as one; anything else goes as it was written, and the server says what is wrong with it. */
function whole(text: string): number | null {
  const trimmed = text.trim();
  return /^\d+$/.test(trimmed) ? Number(trimmed) : ((trimmed || null) as number | null);
}

/** How each setting is sent. A setting that the API learns fails the type check here until it has its row. */
const SENT: { [Name in Field]-?: (draft: Draft) => unknown } = {
  name: (draft) => draft.name.trim(),
  job: (draft) => draft.job.trim() || "default",
  description: (draft) => draft.description,
  runbook: (draft) => draft.runbook,
  method: (draft) => draft.method,
  url: (draft) => draft.url.trim(),
  cron: (draft) => (draft.kind === "cron" ? draft.cron.trim() : undefined),
  every: (draft) => (draft.kind === "interval" ? draft.interval.trim() : undefined),
  timezone: (draft) => orNull(draft.timezone),
  headers: (draft) =>
    draft.headers
      .filter((each) => each.name.trim())
      .map((each) => (each.secret && !each.value ? { name: each.name, secret: true } : each)),
  body: (draft) => (sendsBody(draft) ? draft.body || null : null),
  timeout: (draft) => orNull(draft.timeout),
  redirects_max: (draft) => whole(draft.redirectsMax),
  body_cap: (draft) => whole(draft.bodyCap),
  accept_codes: (draft) =>
    draft.acceptCodes
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(whole),
  condition: (draft) => orNull(draft.condition),
  min_interval: (draft) => orNull(draft.minInterval),
  max_interval: (draft) => orNull(draft.maxInterval),
  jitter: (draft) => orNull(draft.jitter),
  spread: (draft) => draft.spread,
  backoff: (draft) => draft.backoff,
  misfire: (draft) => draft.misfire,
  catch_up_max: (draft) => whole(draft.catchUpMax),
  max_lateness: (draft) => orNull(draft.maxLateness),
  on_lost_worker: (draft) => draft.onLostWorker,
  advice: (draft) => draft.advice,
};

/** Durations go as they were written: the server reads them, and says what is wrong with them. */
export function wishOf(draft: Draft): EndpointNew {
  const rows = Object.entries(SENT).map(([name, send]) => [name, send(draft)] as const);
  return Object.fromEntries(rows.filter(([, value]) => value !== undefined)) as EndpointNew;
}
