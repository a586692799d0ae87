import { expect, test } from "vitest";
import { standing } from "./ExecutionTable";

const at = { step: "reply", error: "", waits_for: "event", outcome: "" } as const;

test("the reason of who cancelled is no outcome", () => {
  expect(standing({ ...at, status: "cancelled", waits_for: "", outcome: "enough" })).toBe("cancelled: enough");
  expect(standing({ ...at, status: "cancelled", waits_for: "" })).toBe("cancelled");
  expect(standing({ ...at, status: "completed", waits_for: "", outcome: "silent" })).toBe("silent");
  expect(standing({ ...at, status: "waiting" })).toBe("reply, waits for an event");
});
