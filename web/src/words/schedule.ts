import { duration } from "./duration";

type Scheduled = {
  cron: string | null;
  interval_ms: number | null;
  once_at?: string | null;
  timezone: string;
  schedule?: string;
};

/** When it runs, in words; the server puts cron into words. */
export function scheduleWords(endpoint: Scheduled): string {
  if (endpoint.interval_ms !== null) return `every ${duration(endpoint.interval_ms)}`;
  if (endpoint.once_at) return endpoint.schedule || `once at ${endpoint.once_at}`;
  const words = endpoint.schedule || endpoint.cron;
  return words ? `${words}, ${endpoint.timezone}` : "never";
}

type Retried = {
  retry: { attempts: number; delay_ms: number } | null;
  confirm: string | null;
};

/** What happens to a failed run before the failure counts. */
export function retryWords({ retry, confirm }: Retried): string {
  const confirmed = confirm ? [`confirm ${confirm}`] : [];
  const retried = retry ? [`${retry.attempts} attempts, the second after ${duration(retry.delay_ms)}`] : [];
  return [...confirmed, ...retried].join(", then ") || "none";
}

type Calendars = { except_calendar: string; only_calendar: string; shift: string; cron: string | null };
const SHIFTS: Record<string, string> = {
  next_business_day: "moved to the next allowed day",
  previous_business_day: "moved to the previous allowed day",
};

/** On which days it runs, and what happens to times on other days. */
export function calendarWords({ except_calendar, only_calendar, shift, cron }: Calendars): string {
  const days = [
    only_calendar && `only on days of ${only_calendar}`,
    except_calendar && `not on days of ${except_calendar}`,
  ];
  const words = days.filter(Boolean).join(", ");
  return words ? [words, (cron && SHIFTS[shift]) || "excluded runs skipped"].join("; ") : "none";
}

const DAY_MS = 86_400_000;
const AHEAD_DAYS = 7;
const zones = new Map<string, Intl.DateTimeFormat>();

function offset(zone: string, ms: number): string {
  let format = zones.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
    zones.set(zone, format);
  }
  return format.formatToParts(ms).find((part) => part.type === "timeZoneName")?.value ?? "";
}

/**
 * Daylight saving that begins or ends within a week, or before the next run, in the zone of a cron; null: none does.
 */
export function clockChange(endpoint: Scheduled & { next_run_at?: string | null }, nowMs: number): string | null {
  if (endpoint.cron === null) return null;
  const next = endpoint.next_run_at ? Date.parse(endpoint.next_run_at) : nowMs;
  const end = Math.min(Math.max(nowMs + AHEAD_DAYS * DAY_MS, next), nowMs + 400 * DAY_MS);
  try {
    const now = offset(endpoint.timezone, nowMs);
    if (offset(endpoint.timezone, end) === now) return null;
    let [low, high] = [nowMs, end];
    while (high - low > 60_000) {
      const half = (low + high) / 2;
      if (offset(endpoint.timezone, half) === now) low = half;
      else high = half;
    }
    const day = new Intl.DateTimeFormat("en-CA", { timeZone: endpoint.timezone, dateStyle: "short" }).format(high);
    return `clocks change on ${day}`;
  } catch {
    return null; // a zone that this browser does not know
  }
}
