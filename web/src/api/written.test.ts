import { expect, test } from "vitest";
import { mayHaveChanged, noteWritten, takeWritten } from "./written";

const write = (path: string, method = "POST") => noteWritten({ method, url: `http://site/api/v1${path}` });

test("only writes are remembered, and each once", () => {
  write("/endpoints/end_1", "GET");
  write("/endpoints?dry_run=true");
  write("/rules");
  write("/rules/rule_1", "DELETE");
  expect([...takeWritten()]).toEqual(["rules"]);
  expect([...takeWritten()]).toEqual([]);
});

test("a write makes old what shows its subject, and nothing else", () => {
  const changed = (part: string, ...key: unknown[]) => mayHaveChanged(new Set([part]), key);
  expect(changed("endpoints", "endpoints", "one", "end_1")).toBe(true);
  expect(changed("endpoints", "jobs")).toBe(true);
  expect(changed("endpoints", "settings", "alerts")).toBe(false);
  expect(changed("alerts", "settings", "alerts")).toBe(true);
  expect(changed("alerts", "settings", "audit")).toBe(true);
  expect(changed("alerts", "endpoints", "list")).toBe(false);
  expect(changed("workflows", "flows", "graph", "a", 1)).toBe(false);
});

test("a part of the API that is not in the table makes everything old", () => {
  expect(mayHaveChanged(new Set(["config"]), ["endpoints", "list"])).toBe(true);
  expect(mayHaveChanged(new Set(["config"]), ["simulations"])).toBe(false);
  expect(mayHaveChanged(new Set(), ["endpoints", "list"])).toBe(false);
});
