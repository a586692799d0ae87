import { expect, test } from "vitest";
import { auditWords } from "./audit";

test.each([
  [{ execution: "exe_1", verb: "skip", reason: "no answer" }, "skip: no answer"],
  [{ fields: ["interval_ms", "url"] }, "interval_ms, url"],
  [{ subject: "bo@example.com", before: "viewer", after: "operator" }, "viewer → operator"],
  [{ before: { endpoints_max: null, runs: 1 }, after: { endpoints_max: 3, runs: 1 } }, "endpoints_max: none → 3"],
  [{ kind: "interval", interval_ms: 1_800_000, reason: "sale" }, "every 30m: sale"],
  [{ workflow: "two", version: 2 }, "version 2"],
  [{ queued_behind_a_run: false }, ""],
])("%j is told as '%s'", (detail, text) => expect(auditWords(detail)).toBe(text));
