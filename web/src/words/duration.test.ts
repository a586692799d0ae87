import { expect, test } from "vitest";
import { duration, parseDuration, span, took } from "./duration";

test.each([
  [0, "0s"],
  [850, "850ms"],
  [1_333, "1.333s"],
  [30_000, "30s"],
  [5_400_000, "1h30m"],
  [90_061_001, "1d1h1m1s1ms"],
])("%i ms is written %s", (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  ["30s", 30_000],
  ["1h30m", 5_400_000],
  [" 2d ", 172_800_000],
  ["1.5s", 1500],
  ["", null],
  ["soon", null],
  ["5", null],
])("%s is read as %s ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test("what is written is read back the same", () => {
  for (const ms of [1, 999, 1000, 61_000, 3_661_001, 86_400_000 * 400]) expect(parseDuration(duration(ms))).toBe(ms);
});

test("a span keeps two units at most", () => {
  expect(span(5 * 60_000 + 10_400)).toBe("5m10s");
  expect(span(3 * 86_400_000 + 4 * 3_600_000 + 59_000)).toBe("3d4h");
});

test("a measured time is short", () => {
  expect(took(null)).toBe("–");
  expect(took(0)).toBe("<1ms");
  expect(took(1234)).toBe("1.23s");
});
