import { expect, test } from "vitest";
import { proofWords, replayWords, strangers } from "./replay";

const same = { version: 1, identical: true, trouble: "" };
const other = { version: 1, identical: false, trouble: "" };
const erased = { version: 1, identical: false, trouble: "its data were erased" };

test("those that differ and those that cannot be replayed are counted apart", () => {
  expect(replayWords([same, same])).toBe("Identical, all 2");
  expect(replayWords([same])).toBe("Identical, the one there is");
  expect(replayWords([same, other])).toBe("1 of 2 differs");
  expect(replayWords([same, other, other, erased])).toBe("2 of 4 differ, 1 cannot be replayed");
  expect(replayWords([same, erased])).toBe("1 of 2 cannot be replayed");
});

test("what is proved is said, and what cannot be", () => {
  expect(proofWords([same, same], "version 2")).toBe(
    "With what their logs say arrived, version 2 does what was done. Whether the outside world did what it answered, no log can prove.",
  );
  expect(proofWords([same], "version 2")).toMatch(/^With what its log says arrived/);
  expect(proofWords([same, same, other], "version 2")).toBe(
    "The other 2 do the same with version 2. What the outside world would have answered after a first difference, no log knows.",
  );
  expect(proofWords([other], "version 2")).toBe(
    "What the outside world would have answered after a first difference, no log knows.",
  );
});

test("only what ran with the version itself is strange where it differs", () => {
  expect(strangers([same, other, erased], 1)).toEqual([other]);
  expect(strangers([other], 2)).toEqual([]);
  expect(strangers([other], null)).toEqual([]);
});
