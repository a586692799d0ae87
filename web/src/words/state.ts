/** One word and one color for each state and each way a run can end, the same on every page. */
import labels from "./labels.json";

export type Tone = "good" | "bad" | "warn" | "calm" | "idle";
type RunStatus = keyof typeof labels.run_statuses;
type EndpointState = keyof typeof labels.endpoint_states;

export const COLOR: Record<Tone, string> = { good: "green", bad: "red", warn: "orange", calm: "cyan", idle: "gray" };
export const INK: Record<Tone, string> = {
  good: "var(--good)",
  bad: "var(--bad)",
  warn: "var(--warn)",
  calm: "var(--calm)",
  idle: "var(--idle)",
};

const RUN_TONES: Record<RunStatus, Tone> = {
  success: "good",
  failure: "bad",
  timeout: "bad",
  blocked: "warn",
  running: "calm",
  abandoned: "warn",
  retried: "warn",
  superseded: "idle",
  unknown: "warn",
  missed: "idle",
};
const STATE_TONES: Record<EndpointState, Tone> = {
  active: "good",
  paused: "warn",
  "job-paused": "warn",
  parked: "bad",
  deferred: "warn",
  done: "idle",
  archived: "idle",
};

/** What a table says of a key; undefined where a newer server uses a key that this page does not know. */
const look = <Value>(table: Record<string, Value>, key: string): Value | undefined => table[key];

export const errorTitle = (code: string | null): string =>
  code ? (look(labels.error_codes, code) ?? code.replaceAll("_", " ")) : "Error";
export const runTone = (status: string): Tone => look<Tone>(RUN_TONES, status) ?? "idle";
export const runMeaning = (status: string): string => look(labels.run_statuses, status) ?? "";
export const stateTone = (state: string): Tone => look<Tone>(STATE_TONES, state) ?? "idle";
export const stateMeaning = (state: string): string => look(labels.endpoint_states, state) ?? "";
export const sourceWords = (source: string): string => look(labels.sources, source) ?? source;
/** What the API calls failed. */
export const isFailed = (status: string): boolean => ["failure", "timeout", "blocked"].includes(status);
export const RUN_STATUSES = Object.keys(labels.run_statuses) as RunStatus[];
