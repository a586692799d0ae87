import { expect, test } from "vitest";
import { BOX, layout } from "./layout";

const node = (id: string, is_start = false) => ({ id, is_start });
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });

test("steps stand below those that lead to them", () => {
  const { places } = layout(
    [node("a", true), node("b"), node("c"), node("d")],
    [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")],
  );
  const y = (id: string) => places.get(id)!.y;
  expect(y("a")).toBeLessThan(y("b"));
  expect(y("b")).toBe(y("c"));
  expect(y("d")).toBeGreaterThan(y("c"));
  expect(places.get("b")!.x).not.toBe(places.get("c")!.x);
});

test("a way back does not push its steps down", () => {
  const { places, back } = layout(
    [node("ask", true), node("wait"), node("again")],
    [edge("ask", "wait"), edge("wait", "again"), edge("again", "ask")],
  );
  expect([...back]).toEqual(["again-ask"]);
  expect(places.get("ask")!.y).toBeLessThan(places.get("again")!.y);
});

test("a step that leads to itself is drawn", () => {
  expect(layout([node("a", true)], [edge("a", "a")]).back.size).toBe(1);
});

test("a way over several rows has a place of its own in each of them", () => {
  const { places, via } = layout(
    [node("a", true), node("b"), node("c"), node("d")],
    [edge("a", "b"), edge("b", "c"), edge("c", "d"), edge("a", "d")],
  );
  const passed = via.get("a-d")!;
  expect(passed.map((each) => each.y)).toEqual([places.get("b")!.y, places.get("c")!.y]);
  for (const each of passed)
    for (const box of places.values())
      if (box.y === each.y) expect(each.x < box.x || each.x > box.x + BOX.width).toBe(true);
});

test("a way back runs beside all steps, and inside the picture", () => {
  const { places, lanes, width } = layout(
    [node("a", true), node("b"), node("c")],
    [edge("a", "b"), edge("a", "c"), edge("b", "a"), edge("c", "a")],
  );
  for (const lane of lanes.values()) {
    expect(lane).toBeLessThan(width);
    for (const box of places.values()) expect(lane).toBeGreaterThan(box.x + BOX.width);
  }
  expect(new Set(lanes.values()).size).toBe(2);
});
