import { expect, test } from "vitest";
import { statesOf } from "./ExecutionTimeline";

const steps = { first: { result: { skipped: "no answer" } }, second: { result: { skipped: "x", of: "a response" } } };
const visits = { first: 1, second: 1, third: 1 };

test("a step that was skipped is not done, whatever a response calls itself", () => {
  expect([...statesOf({ visits, steps, step: "third", status: "waiting" })]).toEqual([
    ["first", "left"],
    ["second", "done"],
    ["third", "here"],
  ]);
});

test("the step at which it was cancelled is not done, and one that never began has no state", () => {
  expect(statesOf({ visits, steps, step: "third", status: "cancelled" }).get("third")).toBe("left");
  expect(statesOf({ visits, steps, step: "fourth", status: "cancelled" }).has("fourth")).toBe(false);
  expect(statesOf({ visits, steps, step: "third", status: "completed" }).get("third")).toBe("done");
});
