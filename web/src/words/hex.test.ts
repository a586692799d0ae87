import { expect, test } from "vitest";
import { hexDump } from "./hex";

test("a hex dump has offset, bytes and what can be printed", () => {
  expect(hexDump(new TextEncoder().encode("Hello, world!\n\0ABC"))).toBe(
    "00000000  48 65 6c 6c 6f 2c 20 77 6f 72 6c 64 21 0a 00 41  Hello, world!..A\n" +
      "00000010  42 43                                            BC",
  );
});
