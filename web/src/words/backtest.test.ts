import { expect, test } from "vitest";
import { callsWords, failuresWords } from "./backtest";

const failure = (present: number | null, changed: number | null) => ({ seen_after_s: { present, changed } });

test("calls are compared", () => {
  expect(callsWords({ present: 540, changed: 812 })).toBe("812 calls instead of 540: 272 more.");
  expect(callsWords({ present: 12, changed: 4 })).toBe("4 calls instead of 12: 8 fewer.");
  expect(callsWords({ present: 7, changed: 7 })).toBe("7 calls either way.");
});

test("failures are seen sooner, later or as before", () => {
  expect(failuresWords([])).toBe("No failures recorded in this period.");
  expect(failuresWords([failure(60, 15)])).toBe("Of the one failure: 1 seen sooner, by up to 45s.");
  expect(failuresWords([failure(60, 15), failure(5, 65), failure(3, 3)])).toBe(
    "Of 3 failures: 1 seen sooner, by up to 45s; 1 seen later, by up to 1m; 1 seen as before.",
  );
});

test("what one of the two never saw has no number", () => {
  expect(failuresWords([failure(null, 15), failure(4, null), failure(null, null)])).toBe(
    "Of 3 failures: 1 seen sooner; 1 seen later; 1 seen as before.",
  );
});
