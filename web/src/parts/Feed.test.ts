import { expect, test } from "vitest";
import { newestFirst } from "./Feed";

test("activity is in the order in which it happened, the newest first", () => {
  const event = (cursor: string, at: string) => ({ cursor, at });
  const written = [
    event("1:0", "2026-01-01T00:00:09Z"),
    event("1:1", "2026-01-01T00:00:03Z"),
    event("2:0", "2026-01-01T00:00:09Z"),
  ];
  expect(newestFirst(written).map((each) => each.cursor)).toEqual(["2:0", "1:0", "1:1"]);
});
