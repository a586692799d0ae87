/** Where the steps of a workflow stand: in rows by how far they are from the start; ways back go round the side. */
type Node = { id: string; is_start: boolean };
type Edge = { id: string; source: string; target: string };
export type Placed = { x: number; y: number };
export type Layout = { places: Map<string, Placed>; back: Set<string>; width: number; height: number };

export const BOX = { width: 176, height: 44, gapX: 36, gapY: 46, margin: 16 };

export function layout(nodes: Node[], edges: Edge[]): Layout {
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
  for (const node of [...nodes].sort((a, b) => Number(b.is_start) - Number(a.is_start))) if (!state.has(node.id)) visit(node.id);

  const rank = new Map<string, number>();
  for (const id of order) {
    rank.set(id, rank.get(id) ?? 0);
    for (const edge of out.get(id) ?? []) {
      if (!back.has(edge.id)) rank.set(edge.target, Math.max(rank.get(edge.target) ?? 0, (rank.get(id) ?? 0) + 1));
    }
  }
  const rows: string[][] = [];
  for (const id of order) (rows[rank.get(id) ?? 0] ??= []).push(id);

  const column = new Map<string, number>();
  for (const row of rows) {
    const wish = (id: string): number => {
      const above = edges.filter((edge) => edge.target === id && !back.has(edge.id) && column.has(edge.source)).map((edge) => column.get(edge.source) ?? 0);
      return above.length ? above.reduce((sum, each) => sum + each, 0) / above.length : 0;
    };
    row.sort((a, b) => wish(a) - wish(b));
    row.forEach((id, place) => column.set(id, place - (row.length - 1) / 2));
  }
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const width = widest * (BOX.width + BOX.gapX) + 2 * BOX.margin + (back.size ? 60 : 0);
  const centre = (widest * (BOX.width + BOX.gapX)) / 2 + BOX.margin;
  const places = new Map<string, Placed>();
  for (const [id, row] of rank) {
    places.set(id, { x: centre + (column.get(id) ?? 0) * (BOX.width + BOX.gapX) - BOX.width / 2, y: BOX.margin + row * (BOX.height + BOX.gapY) });
  }
  return { places, back, width, height: rows.length * (BOX.height + BOX.gapY) - BOX.gapY + 2 * BOX.margin };
}
