import { expect, test } from "vitest";
import { concerns, joined } from "./concerns";

const finished = { type: "run.finished", endpoint: "shop", endpoint_id: "end_1", run_id: "run_1", data: {} };
const ended = {
  type: "execution.ended",
  endpoint: null,
  endpoint_id: null,
  run_id: null,
  data: { execution: "exe_1" },
};

test("a run makes the lists it is in old, and what is known of its endpoint", () => {
  const old = [
    ["endpoints", "list", {}, 50],
    ["endpoints", "one", "end_1"],
    ["endpoints", "one", "shop"],
    ["runs", "list", { endpoint: "end_1" }, 60],
    ["runs", "one", "run_1"],
    ["runs", "recent", ["end_1"]],
    ["runs", "neighbours", "run_0", "end_1"],
    ["dashboard", "stats"],
  ];
  for (const key of old) expect(concerns(finished, key), JSON.stringify(key)).toBe(true);
});

test("a run leaves other endpoints, workers, settings and workflows as they are", () => {
  const same = [
    ["endpoints", "one", "end_2"],
    ["runs", "list", { endpoint: "end_2" }, 60],
    ["runs", "one", "run_2"],
    ["runs", "recent", ["end_2"]],
    ["runs", "bytes", "run_1"],
    ["dashboard", "workers"],
    ["jobs"],
    ["planner", "status"],
    ["flows", "executions", {}, 50],
    ["settings", "keys"],
    ["session"],
    ["events", {}, 60],
  ];
  for (const key of same) expect(concerns(finished, key), JSON.stringify(key)).toBe(false);
});

test("an execution's end is about itself and the lists of executions", () => {
  expect(concerns(ended, ["flows", "execution", "exe_1"])).toBe(true);
  expect(concerns(ended, ["flows", "execution", "exe_2"])).toBe(false);
  expect(concerns(ended, ["flows", "executions", {}, 50])).toBe(true);
  expect(concerns(ended, ["endpoints", "list", {}, 50])).toBe(false);
});

test("events of the stream join those that were read, each once and in order", () => {
  const at = (...cursors: string[]) => cursors.map((cursor) => ({ cursor }));
  expect(joined(at("7:1", "9:0"), at("9:0", "10:0", "8:2"), 3)).toEqual(at("8:2", "9:0", "10:0"));
  expect(joined(at("5.7:1"), at("5.12:0", "6.1:0"), 9)).toEqual(at("5.7:1", "5.12:0", "6.1:0"));
});
