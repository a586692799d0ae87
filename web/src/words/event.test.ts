import { expect, test } from "vitest";
import { decisionWords } from "./decision";
import { eventWords } from "./event";

const backoff = (failures: number) => ({ type: "backoff.applied", data: { failures } });

test("a backoff says how many of the last runs failed", () => {
  expect(eventWords(backoff(1))).toBe("backs off, for the last run failed");
  expect(eventWords(backoff(3))).toBe("backs off, for the last 3 runs failed");
  expect(decisionWords(backoff(1))).toBe("backs off, for the last run failed");
  expect(decisionWords(backoff(3))).toBe("backs off, for the last 3 runs failed");
});

test("endpoints that wait say for what, and which limit holds them", () => {
  const waiting = (data: Record<string, unknown>) => eventWords({ type: "schedule.waiting", data });
  expect(waiting({ cause: "host", name: "gateway:80", limit: "50", waiting: 12 })).toBe(
    "12 endpoints wait for host gateway:80 (limit 50)",
  );
  expect(waiting({ cause: "rate", name: "gateway:80", limit: "5/s", waiting: 1 })).toBe(
    "1 endpoint waits for host gateway:80 (rate 5/s)",
  );
  expect(waiting({ cause: "slow", name: "", limit: "750", waiting: 3 })).toBe(
    "3 endpoints wait for a place for slow runs (limit 750)",
  );
  expect(waiting({ cause: "scheduler", name: "", limit: "0", waiting: 3 })).toBe("3 endpoints wait for a scheduler");
});

test("what has a name of its own is named, and nothing else is changed about it", () => {
  expect(eventWords({ type: "job.created", data: { name: "night_shift" } })).toBe("job night_shift created");
  expect(eventWords({ type: "member.changed", data: { subject: "ann@example.com" } })).toBe(
    "member ann@example.com changed",
  );
  expect(eventWords({ type: "signing_key.created", data: {} })).toBe("signing key created");
});
