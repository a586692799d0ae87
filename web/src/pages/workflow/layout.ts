/**
 * Places the steps of a workflow in rows by their distance from the start. An edge over several rows has its own place
 * in each row between; edges back run in the gaps between rows and along the side, so that none passes behind a step.
 */
type Node = { id: string; is_start: boolean };
type Edge = { id: string; source: string; target: string };
export type Placed = { x: number; y: number };
/** `via`: the middles of the places that a long way passes, from top to bottom. `lane`: where a way back runs up. */
export type Layout = {
  places: Map<string, Placed>;
  via: Map<string, Placed[]>;
  back: Set<string>;
  lanes: Map<string, number>;
  width: number;
  height: number;
};

export const BOX = { width: 176, height: 44, gapX: 36, gapY: 46, margin: 16 };
const PASS = 40; // the room of a way that passes a row
const LANE = 26;
const LABEL = 150; // the label of a way back, beside its lane

export function layout(nodes: Node[], edges: Edge[]): Layout {
  const { order, back } = walk(nodes, edges);
  const forward = edges.filter((edge) => !back.has(edge.id));
  const rank = new Map<string, number>(order.map((id) => [id, 0]));
  for (const id of order)
    for (const edge of forward)
      if (edge.source === id) rank.set(edge.target, Math.max(rank.get(edge.target) ?? 0, (rank.get(id) ?? 0) + 1));

  const rows: string[][] = [];
  const above = new Map<string, string[]>(); // what leads to each place of a row, from the row before
  const passes = new Map<string, string[]>(); // by edge
  for (const id of order) {
    const row = rank.get(id) ?? 0;
    rows[row] = [...(rows[row] ?? []), id];
  }
  for (const edge of forward) {
    let before = edge.source;
    for (let row = (rank.get(edge.source) ?? 0) + 1; row < (rank.get(edge.target) ?? 0); row += 1) {
      const pass = `${edge.id}@${row}`;
      rows[row]?.push(pass);
      above.set(pass, [before]);
      passes.set(edge.id, [...(passes.get(edge.id) ?? []), pass]);
      before = pass;
    }
    above.set(edge.target, [...(above.get(edge.target) ?? []), before]);
  }

  const isStep = new Set(order);
  const roomOf = (id: string) => (isStep.has(id) ? BOX.width : PASS) + BOX.gapX;
  const middle = new Map<string, number>(); // from the middle of the row
  for (const row of rows) {
    const wish = (id: string): number => {
      const known = (above.get(id) ?? []).flatMap((each) => {
        const at = middle.get(each);
        return at === undefined ? [] : [at];
      });
      return known.length ? known.reduce((sum, each) => sum + each, 0) / known.length : 0;
    };
    const wishes = new Map(row.map((id) => [id, wish(id)]));
    row.sort((a, b) => (wishes.get(a) ?? 0) - (wishes.get(b) ?? 0));
    let left = -row.reduce((sum, id) => sum + roomOf(id), 0) / 2;
    for (const id of row) {
      middle.set(id, left + roomOf(id) / 2);
      left += roomOf(id);
    }
  }
  const inner = Math.max(BOX.width + BOX.gapX, ...rows.map((row) => row.reduce((sum, id) => sum + roomOf(id), 0)));
  const top = BOX.margin + (back.size ? BOX.gapY / 2 : 0);
  const at = (id: string, row: number): Placed => ({
    x: BOX.margin + inner / 2 + (middle.get(id) ?? 0),
    y: top + row * (BOX.height + BOX.gapY),
  });
  const places = new Map<string, Placed>();
  for (const [id, row] of rank) {
    const found = at(id, row);
    places.set(id, { x: found.x - BOX.width / 2, y: found.y });
  }
  const via = new Map(
    [...passes].map(([id, on]) => [id, on.map((pass) => at(pass, Number(pass.slice(pass.lastIndexOf("@") + 1))))]),
  );
  const lanes = new Map([...back].map((id, place) => [id, BOX.margin + inner + place * LANE]));
  return {
    places,
    via,
    back,
    lanes,
    width: inner + 2 * BOX.margin + (back.size ? back.size * LANE + LABEL : 0),
    height: top + rows.length * (BOX.height + BOX.gapY) - BOX.gapY + BOX.margin + (back.size ? BOX.gapY / 2 : 0),
  };
}

/** Steps so that each comes before those it leads to, and the ways that lead back. */
function walk(nodes: Node[], edges: Edge[]): { order: string[]; back: Set<string> } {
  const out = new Map<string, Edge[]>();
  for (const edge of edges) out.set(edge.source, [...(out.get(edge.source) ?? []), edge]);
  const back = new Set<string>();
  const order: string[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (id: string): void => {
    state.set(id, "open");
    for (const edge of out.get(id) ?? []) {
      if (state.get(edge.target) === "open") back.add(edge.id);
      else if (!state.has(edge.target)) visit(edge.target);
    }
    state.set(id, "done");
    order.unshift(id);
  };
  for (const node of [...nodes].sort((a, b) => Number(b.is_start) - Number(a.is_start)))
    if (!state.has(node.id)) visit(node.id);
  return { order, back };
}
