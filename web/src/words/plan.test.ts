import { expect, test } from "vitest";
import { changeWords, countWords, isLoss } from "./plan";

const step = (act: string) => ({ act, kind: "endpoint", name: "health" });

test("a plan is counted by what it does", () => {
  expect(countWords({ steps: [step("delete"), step("create"), step("change"), step("create")] })).toBe(
    "2 new, 1 changed, 1 deleted",
  );
});

test("what is archived or deleted is a loss", () => {
  expect(["create", "change", "archive", "delete"].filter((act) => isLoss(step(act)))).toEqual(["archive", "delete"]);
});

test("a change names both values, also where there is none", () => {
  expect(changeWords({ field: "every", before: "1m", after: "30s" })).toBe("every: 1m → 30s");
  expect(changeWords({ field: "headers", before: null, after: { a: "b" } })).toBe('headers: none → {"a":"b"}');
});
