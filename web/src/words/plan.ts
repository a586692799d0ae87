/** What applying a document would do, in words. */
type Step = { act: string; kind: string; name: string };
type Change = { field: string; before?: unknown; after?: unknown };

const ORDER = ["create", "change", "archive", "delete"];
const DONE: Record<string, string> = { create: "new", change: "changed", archive: "archived", delete: "deleted" };

/** "2 new, 1 changed": how many of each, in the order of weight. */
export function countWords({ steps }: { steps: Step[] }): string {
  const counts = new Map<string, number>();
  for (const step of steps) counts.set(step.act, (counts.get(step.act) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b))
    .map(([act, count]) => `${count} ${DONE[act] ?? act}`)
    .join(", ");
}

export const isLoss = (step: Step): boolean => step.act === "archive" || step.act === "delete";

const shown = (value: unknown): string =>
  value === null || value === undefined ? "none" : typeof value === "string" ? value : JSON.stringify(value);

export const changeWords = ({ field, before, after }: Change): string => `${field}: ${shown(before)} → ${shown(after)}`;
