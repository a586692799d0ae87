import { expect, test } from "vitest";
import { decisionWords } from "./decision";
import { eventWords } from "./event";

const backoff = (failures: number) => ({ type: "backoff.applied", data: { failures } }) as never;

test("a backoff says how many of the last runs failed", () => {
  expect(eventWords(backoff(1))).toBe("backs off, for the last run failed");
  expect(eventWords(backoff(3))).toBe("backs off, for the last 3 runs failed");
  expect(decisionWords(backoff(1))).toBe("backs off, for the last run failed");
  expect(decisionWords(backoff(3))).toBe("backs off, for the last 3 runs failed");
});

test("what has a name of its own is named, and nothing else is changed about it", () => {
  expect(eventWords({ type: "job.created", data: { name: "night_shift" } } as never)).toBe("job night_shift created");
  expect(eventWords({ type: "member.changed", data: { subject: "ann@example.com" } } as never)).toBe("member ann@example.com changed");
  expect(eventWords({ type: "signing_key.created", data: {} } as never)).toBe("signing key created");
});
