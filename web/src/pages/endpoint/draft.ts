/** An endpoint as the form holds it, and as it is sent. Every setting that the API takes has its place in both. */
import type { Endpoint, EndpointNew, Kind, KindField } from "../../api/types";
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
  kind: string;
  call: Record<string, string | boolean>; // fields of kinds other than `http`, by key
  method: Method;
  url: string;
  connection: string;
  timing: "interval" | "cron" | "once";
  interval: string;
  cron: string;
  at: string;
  timezone: string;
  headers: HeaderDraft[];
  body: string;
  literal: boolean;
  timeout: string;
  redirectsMax: string;
  bodyCap: string;
  acceptCodes: string;
  condition: string;
  completes: string;
  callbackTimeout: string;
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
  retryAttempts: string;
  retryDelay: string;
  retryFactor: string;
  retryMaxDelay: string;
  retryOn: string[];
  confirm: string;
  except: string;
  only: string;
  shift: string;
};

export const EMPTY: Draft = {
  name: "",
  job: "default",
  description: "",
  runbook: "",
  kind: "http",
  call: {},
  method: "GET",
  url: "",
  connection: "",
  timing: "interval",
  interval: "5m",
  cron: "0 9 * * *",
  at: "in 10m",
  timezone: "UTC",
  headers: [],
  body: "",
  literal: false,
  timeout: "30s",
  redirectsMax: "0",
  bodyCap: "100000",
  acceptCodes: "",
  condition: "",
  completes: "response",
  callbackTimeout: "1h",
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
  retryAttempts: "1",
  retryDelay: "1m",
  retryFactor: "2",
  retryMaxDelay: "1h",
  retryOn: ["timeout", "connect", "5xx", "rate_limit"],
  confirm: "",
  except: "",
  only: "",
  shift: "skip",
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
export const sendsBody = (draft: Draft): boolean => draft.kind !== "http" || SENDS_BODY[draft.method];

/** A heartbeat is not called, so nothing of it can be retried. */
export const isCalled = (draft: Draft): boolean => draft.kind !== "heartbeat";

const written = (ms: number | null): string => (ms === null ? "" : duration(ms));

/** The fields of a kind that the form draws from their description: all that it does not know by name. */
export const describedFields = (kind: Kind | undefined): KindField[] =>
  (kind?.fields ?? []).filter((field) => !(field.key in SENT));

export function draftOf(endpoint: Endpoint, kinds: Kind[]): Draft {
  const kind = kinds.find((each) => each.name === endpoint.kind);
  return {
    name: endpoint.name,
    job: endpoint.job,
    description: endpoint.description,
    runbook: endpoint.runbook,
    kind: endpoint.kind,
    call: Object.fromEntries(describedFields(kind).map((field) => [field.key, shownValue(endpoint, field)])),
    method: METHODS.find((each) => each === endpoint.method) ?? "GET",
    url: endpoint.url ?? "",
    connection: endpoint.connection ?? "",
    timing: endpoint.once_at !== null ? "once" : endpoint.cron === null ? "interval" : "cron",
    interval: written(endpoint.interval_ms) || EMPTY.interval,
    cron: endpoint.cron ?? EMPTY.cron,
    at: endpoint.once_at ?? EMPTY.at,
    timezone: endpoint.timezone,
    headers: [...endpoint.headers, ...endpoint.environment].map(({ name, value, secret }) => ({ name, value, secret })),
    body: endpoint.body ?? "",
    literal: endpoint.literal ?? false,
    timeout: duration(endpoint.timeout_ms),
    redirectsMax: String(endpoint.redirects_max ?? EMPTY.redirectsMax),
    bodyCap: String(endpoint.body_cap),
    acceptCodes: (endpoint.accept_codes ?? []).join(", "),
    condition: endpoint.condition ?? "",
    completes: endpoint.completes ?? EMPTY.completes,
    callbackTimeout: written(endpoint.callback_timeout_ms) || EMPTY.callbackTimeout,
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
    ...retryOf(endpoint),
    confirm: endpoint.confirm ?? "",
    except: endpoint.except_calendar,
    only: endpoint.only_calendar,
    shift: endpoint.shift,
  };
}

function retryOf({ retry }: Endpoint) {
  if (!retry) {
    const { retryAttempts, retryDelay, retryFactor, retryMaxDelay, retryOn } = EMPTY;
    return { retryAttempts, retryDelay, retryFactor, retryMaxDelay, retryOn };
  }
  return {
    retryAttempts: String(retry.attempts),
    retryDelay: duration(retry.delay_ms),
    retryFactor: String(retry.factor),
    retryMaxDelay: duration(retry.max_delay_ms),
    retryOn: retry.on,
  };
}

/** A value as the form holds it: a list has one item in each line, or is JSON if an item is not one line. */
function shownValue(endpoint: Endpoint, field: KindField): string | boolean {
  const value = (endpoint as Record<string, unknown>)[field.shown_as];
  if (field.type === "switch") return value === true;
  if (Array.isArray(value)) {
    const isPlain = value.every((item) => String(item).trim() !== "" && !String(item).includes("\n"));
    return isPlain && !String(value[0] ?? "").startsWith("[") ? value.join("\n") : JSON.stringify(value);
  }
  if (field.type === "duration" && typeof value === "number") return duration(value);
  return value === null || value === undefined ? "" : String(value);
}

export const labelOf = (key: string): string =>
  key === "tls" ? "TLS" : `${key.charAt(0).toUpperCase()}${key.slice(1).replaceAll("_", " ")}`;

/** The fields of its kind that are set, as rows for people. */
export const fieldRows = (endpoint: Endpoint, kind: Kind | undefined): [string, string][] =>
  describedFields(kind)
    .map((field): [string, string | boolean] => [labelOf(field.key), shownValue(endpoint, field)])
    .filter(([, value]) => value !== "" && value !== "0" && value !== false)
    .map(([label, value]) => [
      label,
      value === true ? "yes" : String(value).replaceAll("\n", label === "Command" ? " " : ", "),
    ]);

/** A copy has every setting but the secrets: nobody can read those. */
export function copyOf(endpoint: Endpoint, kinds: Kind[]): Draft {
  const draft = draftOf(endpoint, kinds);
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

/** Only times of a cron that a calendar excludes can move. */
export const hasShift = (draft: Draft): boolean => draft.timing === "cron" && !!(draft.except || draft.only);

/** Headers of a request, or variables of a command. */
function pairsOf(draft: Draft): unknown {
  return draft.headers
    .filter((each) => each.name.trim())
    .map((each) => (each.secret && !each.value ? { name: each.name, secret: true } : each));
}

/** How each setting is sent that the form has a control for. Others are drawn from their description. */
const SENT: { [Name in Field]?: (draft: Draft) => unknown } = {
  kind: (draft) => draft.kind,
  name: (draft) => draft.name.trim(),
  job: (draft) => draft.job.trim() || "default",
  description: (draft) => draft.description,
  runbook: (draft) => draft.runbook,
  method: (draft) => draft.method,
  url: (draft) => draft.url.trim(),
  connection: (draft) => orNull(draft.connection),
  cron: (draft) => (draft.timing === "cron" ? draft.cron.trim() : undefined),
  every: (draft) => (draft.timing === "interval" ? draft.interval.trim() : undefined),
  at: (draft) => (draft.timing === "once" ? draft.at.trim() : undefined),
  timezone: (draft) => orNull(draft.timezone),
  headers: pairsOf,
  environment: pairsOf,
  body: (draft) => (sendsBody(draft) ? draft.body || null : null),
  literal: (draft) => draft.literal,
  timeout: (draft) => orNull(draft.timeout),
  redirects_max: (draft) => whole(draft.redirectsMax),
  body_cap: (draft) => whole(draft.bodyCap),
  accept_codes: (draft) =>
    draft.acceptCodes
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(whole),
  condition: (draft) => orNull(draft.condition),
  completes: (draft) => draft.completes,
  callback_timeout: (draft) => orNull(draft.callbackTimeout),
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
  retry: (draft) =>
    draft.retryAttempts.trim() === "1" || !isCalled(draft)
      ? null
      : {
          attempts: whole(draft.retryAttempts),
          delay: orNull(draft.retryDelay),
          factor: whole(draft.retryFactor),
          max_delay: orNull(draft.retryMaxDelay),
          on: draft.retryOn,
        },
  confirm: (draft) => (isCalled(draft) ? orNull(draft.confirm) : null),
  except: (draft) => (draft.timing === "once" ? null : orNull(draft.except)),
  only: (draft) => (draft.timing === "once" ? null : orNull(draft.only)),
  shift: (draft) => (hasShift(draft) ? draft.shift : null),
};

/** Durations go as they were written: the server reads them, and says what is wrong with them. */
export function wishOf(draft: Draft, kinds: Kind[]): EndpointNew {
  const kind = kinds.find((each) => each.name === draft.kind);
  const own = new Set(kind?.fields.map((field) => field.key));
  const ofOthers = new Set(
    kinds.flatMap((each) => each.fields.map((field) => field.key)).filter((key) => !own.has(key)),
  );
  const rows = Object.entries(SENT).map(([name, send]) => [name, send(draft)] as const);
  const described = describedFields(kind).map((field) => [field.key, sentValue(field, draft.call[field.key])] as const);
  const sent = [...rows, ...described].filter(([name, value]) => value !== undefined && !ofOthers.has(name));
  return Object.fromEntries(sent) as EndpointNew;
}

function sentValue(field: KindField, value: string | boolean | undefined): unknown {
  if (field.type === "switch") return value === true || (value === undefined && field.default === "true");
  const text = String(value ?? "");
  if (field.type === "number") return whole(text);
  if (field.type === "texts" || field.type === "choices") return itemsOf(text);
  if (field.type === "numbers") {
    return text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(whole);
  }
  return text === "" ? null : text;
}

/** The items of a list, which is written as lines or as JSON. */
function itemsOf(text: string): string[] {
  if (text.trim().startsWith("[")) {
    try {
      const found: unknown = JSON.parse(text);
      if (Array.isArray(found) && found.every((item) => typeof item === "string")) return found;
    } catch {
      // A line that begins with a bracket.
    }
  }
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** Whether everything that the kind needs is there. */
export function isComplete(draft: Draft, kinds: Kind[]): boolean {
  const needed = (kinds.find((each) => each.name === draft.kind)?.fields ?? []).filter((field) => field.required);
  const held = (field: KindField) => (field.key === "url" ? draft.url : String(draft.call[field.key] ?? ""));
  return draft.name.trim() !== "" && needed.every((field) => held(field).trim() !== "");
}
