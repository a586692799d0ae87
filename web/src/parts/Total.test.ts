import { expect, test } from "vitest";
import { totalWords } from "./Total";

test("a total says when there are more", () => {
  expect(totalWords({ count: 1, is_exact: true }, "run", "runs")).toBe("1 run");
  expect(totalWords({ count: 52, is_exact: true }, "run", "runs")).toBe("52 runs");
  expect(totalWords({ count: 10_000, is_exact: false }, "run", "runs")).toBe("10,000+ runs");
  expect(totalWords(null, "run", "runs")).toBe("");
});
