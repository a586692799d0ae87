import { expect, test } from "vitest";
import { byEndpoint } from "./failing";

const run = (id: string, endpoint: string) => ({ id, endpoint_id: endpoint, endpoint });

test("failed runs are counted for each endpoint, the one that failed last first", () => {
  const found = byEndpoint([run("run_1", "a"), run("run_4", "b"), run("run_2", "b"), run("run_3", "a")]);
  expect(found.map((each) => [each.id, each.count, each.last.id])).toEqual([
    ["b", 2, "run_4"],
    ["a", 2, "run_3"],
  ]);
});
