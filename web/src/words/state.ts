/** One word and one colour for each state and each way a run can end, the same on every page. */
import type { RunFilters } from "../api/types";

export type Tone = "good" | "bad" | "warn" | "calm" | "idle";

export const COLOR: Record<Tone, string> = { good: "green", bad: "red", warn: "orange", calm: "cyan", idle: "gray" };
export const INK: Record<Tone, string> = {
  good: "var(--good)",
  bad: "var(--bad)",
  warn: "var(--warn)",
  calm: "var(--calm)",
  idle: "var(--idle)",
};

const RUNS: Record<string, [Tone, string]> = {
  success: ["good", "The call ended as it should."],
  failure: ["bad", "The call ended, but not as it should."],
  timeout: ["bad", "It did not end before its deadline."],
  blocked: ["warn", "It was never sent: a forbidden address, a missing key."],
  running: ["calm", "It is under way."],
  abandoned: ["warn", "Its worker was lost; another attempt follows."],
  superseded: ["idle", "It ended after another attempt had taken its place; it changed nothing."],
  unknown: ["warn", "Its worker was lost, and this endpoint runs a slot at most once."],
  missed: ["idle", "Nothing could run it in time, and its misfire policy did not run it later."],
};

const STATES: Record<string, [Tone, string]> = {
  active: ["good", "It runs as planned."],
  paused: ["warn", "Somebody paused it."],
  "job-paused": ["warn", "Its job is paused."],
  parked: ["bad", "It lost its worker too often; it waits for someone to resume it."],
  deferred: ["warn", "The runs of the month are used up."],
  archived: ["idle", "It is kept, and never runs again."],
};

const SOURCES: Record<string, string> = {
  "baseline-cron": "cron schedule",
  "baseline-interval": "interval",
  "ai-interval": "interval hint",
  "ai-oneshot": "one-shot hint",
  "clamped-min": "minimum interval",
  "clamped-max": "maximum interval",
  paused: "pause",
  "retry-after": "target's Retry-After",
  overdue: "overdue",
  faulty: "failed inside",
};

const FAULTS: Record<string, string> = {
  http_status: "Another status than expected",
  condition: "The condition was not met",
  deadline: "No complete response in time",
  dns: "The name was not found",
  connect: "No connection",
  tls: "No secure connection",
  blocked_address: "An address that is not allowed",
  unsendable: "It could not be sent",
  protocol: "No proper HTTP",
  missed: "Missed",
};

export const faultWords = (code: string | null): string =>
  code ? (FAULTS[code] ?? code.replaceAll("_", " ")) : "Error";
export const runTone = (status: string): Tone => RUNS[status]?.[0] ?? "idle";
export const runMeaning = (status: string): string => RUNS[status]?.[1] ?? "";
export const stateTone = (state: string): Tone => STATES[state]?.[0] ?? "idle";
export const stateMeaning = (state: string): string => STATES[state]?.[1] ?? "";
export const sourceWords = (source: string): string => SOURCES[source] ?? source;
export const isFailed = (status: string): boolean => ["failure", "timeout", "blocked"].includes(status); // what the API calls failed
export const RUN_STATUSES = Object.keys(RUNS) as Exclude<NonNullable<RunFilters["status"]>, "failed">[];
