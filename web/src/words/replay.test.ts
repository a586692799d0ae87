import { expect, test } from "vitest";
import { proofWords, replayWords, strangers } from "./replay";

const same = { version: 1, identical: true, trouble: "" };
const other = { version: 1, identical: false, trouble: "" };
const erased = { version: 1, identical: false, trouble: "its data were erased" };

test("those that differ and those that cannot be replayed are counted apart", () => {
  expect(replayWords([same, same])).toBe("Identical (all 2 executions)");
  expect(replayWords([same])).toBe("Identical (1 execution)");
  expect(replayWords([same, other])).toBe("1 of 2 differs");
  expect(replayWords([same, other, other, erased])).toBe("2 of 4 differ, 1 cannot be replayed");
  expect(replayWords([same, erased])).toBe("1 of 2 cannot be replayed");
});

test("what is proved is said, and what cannot be", () => {
  expect(proofWords([same, same], "version 2")).toBe(
    "Given the recorded inputs, version 2 produces the same steps. A log cannot prove what happened outside Mainspring.",
  );
  expect(proofWords([same, same, other], "version 2")).toBe(
    "The other 2 executions are identical with version 2. Responses after the first difference cannot be known from a log.",
  );
  expect(proofWords([other], "version 2")).toBe("Responses after the first difference cannot be known from a log.");
});

test("only what ran with the version itself is strange where it differs", () => {
  expect(strangers([same, other, erased], 1)).toEqual([other]);
  expect(strangers([other], 2)).toEqual([]);
  expect(strangers([other], null)).toEqual([]);
});
