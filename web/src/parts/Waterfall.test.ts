import { expect, test } from "vitest";
import { spans } from "./Waterfall";

test("phases follow each other and fill the whole time", () => {
  const found = spans({ dns_us: 1000, connect_us: 3000, tls_us: 0, first_byte_us: 9000, total_us: 10_000 });
  expect(found.map((each) => [each.name, each.from, each.ms])).toEqual([
    ["DNS lookup", 0, 1],
    ["Connect", 1, 2],
    ["Time to first byte", 3, 6],
    ["Receive", 9, 1],
  ]);
});

test("a call that never connected shows what it reached", () => {
  expect(
    spans({ dns_us: 500, connect_us: 0, tls_us: 0, first_byte_us: 0, total_us: null }).map((each) => each.name),
  ).toEqual(["DNS lookup"]);
});
