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
