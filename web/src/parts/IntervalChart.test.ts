import { expect, test } from "vitest";
import { waits } from "./IntervalChart";

const run = (at: string, status: "success" | "missed" = "success") => {
  const trigger = "schedule" as const;
  return { id: at, started_at: at, status, source: "baseline-interval", trigger };
};
const planned = (at: string) => ({ next_run_at: at });

test("each run waits for the one before it, planned ones last", () => {
  const found = waits([run("2030-01-31T07:59:50Z"), run("2030-01-31T07:59:20Z")], [planned("2030-01-31T08:00:20Z")]);
  expect(found.map((each) => [each.ms, each.run?.status ?? "planned"])).toEqual([
    [30_000, "success"],
    [30_000, "planned"],
  ]);
});

test("what was missed did not run, and what never comes is not planned", () => {
  expect(
    waits([run("2030-01-31T07:59:50Z"), run("2030-01-31T07:59:55Z", "missed")], [planned("9999-12-31T00:00:00Z")]),
  ).toEqual([]);
});
