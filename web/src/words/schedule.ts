import { duration } from "./duration";

type Scheduled = { cron: string | null; interval_ms: number | null; timezone: string; schedule?: string };

/** When it runs, in words; the server puts cron into words. */
export function scheduleWords(endpoint: Scheduled): string {
  if (endpoint.interval_ms !== null) return `every ${duration(endpoint.interval_ms)}`;
  return endpoint.schedule || endpoint.cron || "never";
}
