import { expect, test } from "vitest";
import { decisionWords } from "./decision";
import { eventWords } from "./event";

const backoff = (failures: number) => ({ type: "backoff.applied", data: { failures } });

test("a backoff says how many of the last runs failed", () => {
  expect(eventWords(backoff(1))).toBe("backing off after a failed run");
  expect(eventWords(backoff(3))).toBe("backing off after 3 failed runs");
  expect(decisionWords(backoff(1))).toBe("backing off after a failed run");
  expect(decisionWords(backoff(3))).toBe("backing off after 3 failed runs");
});

test("endpoints that wait say for what, and which limit holds them", () => {
  const waiting = (data: Record<string, unknown>) => eventWords({ type: "schedule.waiting", data });
  expect(waiting({ cause: "host", name: "gateway:80", limit: "50", waiting: 12 })).toBe(
    "12 endpoints are waiting for host gateway:80 (limit 50)",
  );
  expect(waiting({ cause: "rate", name: "gateway:80", limit: "5/s", waiting: 1 })).toBe(
    "1 endpoint is waiting for host gateway:80 (rate 5/s)",
  );
  expect(waiting({ cause: "slow", name: "", limit: "750", waiting: 3 })).toBe(
    "3 endpoints are waiting for a slot for slow runs (limit 750)",
  );
  expect(waiting({ cause: "scheduler", name: "", limit: "0", waiting: 3 })).toBe(
    "3 endpoints are waiting for a scheduler",
  );
});

test("a subject with a name is named, and nothing else is changed about it", () => {
  expect(eventWords({ type: "job.created", data: { name: "night_shift" } })).toBe("job night_shift created");
  expect(eventWords({ type: "member.changed", data: { subject: "ann@example.com" } })).toBe(
    "member ann@example.com changed",
  );
  expect(eventWords({ type: "signing_key.created", data: {} })).toBe("signing key created");
});

test("an event of a newer server is shown by its type", () => {
  expect(eventWords({ type: "moon_phase.changed", data: {} })).toBe("moon phase changed");
});
