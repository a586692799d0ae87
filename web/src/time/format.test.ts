import { expect, test } from "vitest";
import { inFull, inMode, relative, utc } from "./format";

const NOW = Date.parse("2030-01-31T08:00:00Z");

test.each([
  ["2030-01-31T08:00:23Z", "in 23s"],
  ["2030-01-31T07:54:50Z", "5m ago"],
  ["2030-01-31T07:59:18Z", "42s ago"],
  ["2030-01-31T08:05:10Z", "in 5m10s"],
  ["2030-01-31T08:00:00.400Z", "now"],
])("%s is %s", (at, text) => expect(relative(at, NOW)).toBe(text));

test("utc says so", () => expect(utc("2030-01-31T08:00:00.123456Z")).toBe("2030-01-31 08:00:00 UTC"));

test("today's instants have no date", () => {
  expect(inMode("2030-01-31T09:00:00Z", "utc", NOW)).toBe("09:00:00 UTC");
  expect(inMode("2030-02-01T09:00:00Z", "utc", NOW)).toBe("2030-02-01 09:00:00 UTC");
});

test("in full there are always a date and a zone", () => {
  expect(inFull("2030-01-31T09:00:00Z", "utc")).toBe("2030-01-31 09:00:00 UTC");
  expect(inFull("2030-01-31T09:00:00Z", "local")).toMatch(/^2030-01-31 \d\d:\d\d:00 [A-Z].*$/);
});

test("what has no end never comes", () => expect(inMode("9999-12-31T00:00:00Z", "local", NOW)).toBe("never"));
