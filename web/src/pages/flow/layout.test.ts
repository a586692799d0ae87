import { expect, test } from "vitest";
import { layout } from "./layout";

const node = (id: string, is_start = false) => ({ id, is_start });
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });

test("steps stand below those that lead to them", () => {
  const { places } = layout([node("a", true), node("b"), node("c"), node("d")], [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")]);
  const y = (id: string) => places.get(id)!.y;
  expect(y("a")).toBeLessThan(y("b"));
  expect(y("b")).toBe(y("c"));
  expect(y("d")).toBeGreaterThan(y("c"));
  expect(places.get("b")!.x).not.toBe(places.get("c")!.x);
});

test("a way back does not push its steps down", () => {
  const { places, back } = layout([node("ask", true), node("wait"), node("again")], [edge("ask", "wait"), edge("wait", "again"), edge("again", "ask")]);
  expect([...back]).toEqual(["again-ask"]);
  expect(places.get("ask")!.y).toBeLessThan(places.get("again")!.y);
});

test("a step that leads to itself is drawn", () => {
  expect(layout([node("a", true)], [edge("a", "a")]).back.size).toBe(1);
});
