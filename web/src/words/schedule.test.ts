import { expect, test } from "vitest";
import { calendarWords, clockChange, retryWords, scheduleWords } from "./schedule";

const nightly = { cron: "30 2 * * *", interval_ms: null, timezone: "Europe/Berlin", schedule: "at 02:30" };
const at = (text: string) => Date.parse(text);

test("a cron says its time zone, an interval has none", () => {
  expect(scheduleWords(nightly)).toBe("at 02:30, Europe/Berlin");
  expect(scheduleWords({ cron: null, interval_ms: 30_000, timezone: "Europe/Berlin" })).toBe("every 30s");
  expect(scheduleWords({ cron: null, interval_ms: null, once_at: "2030-01-31T08:00:00Z", timezone: "UTC" })).toBe(
    "once at 2030-01-31T08:00:00Z",
  );
});

test("daylight saving that begins or ends within a week is said", () => {
  expect(clockChange(nightly, at("2026-03-25T00:00:00Z"))).toBe("clocks change on 2026-03-29");
  expect(clockChange(nightly, at("2026-10-20T00:00:00Z"))).toBe("clocks change on 2026-10-25");
  expect(clockChange(nightly, at("2026-06-01T00:00:00Z"))).toBeNull();
});

test("so is one before the next run, however far that is", () => {
  expect(clockChange({ ...nightly, next_run_at: "2026-12-01T00:00:00Z" }, at("2026-06-01T00:00:00Z"))).toBe(
    "clocks change on 2026-10-25",
  );
});

test("an interval, UTC and a zone that is not known have no clock change", () => {
  const march = at("2026-03-25T00:00:00Z");
  expect(clockChange({ ...nightly, cron: null, interval_ms: 1000 }, march)).toBeNull();
  expect(clockChange({ ...nightly, timezone: "UTC" }, march)).toBeNull();
  expect(clockChange({ ...nightly, timezone: "Moon/Crater" }, march)).toBeNull();
});

test("retries are said in the order in which they are made", () => {
  const retry = { attempts: 3, delay_ms: 300_000 };

  expect(retryWords({ retry: null, confirm: null })).toBe("none");
  expect(retryWords({ retry, confirm: "3 within 20s" })).toBe(
    "confirm 3 within 20s, then 3 attempts, the second after 5m",
  );
});

test("calendars are said with what happens to runs on other days", () => {
  const payroll = { except_calendar: "closed", only_calendar: "", shift: "previous_business_day", cron: "0 9 25 * *" };

  expect(calendarWords(payroll)).toBe("not on days of closed; moved to the previous allowed day");
  expect(calendarWords({ ...payroll, only_calendar: "open", shift: "skip" })).toBe(
    "only on days of open, not on days of closed; excluded runs skipped",
  );
  expect(calendarWords({ ...payroll, except_calendar: "" })).toBe("none");
});
