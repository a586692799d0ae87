/** What a replay of many executions found, in a sentence. */
type Compared = { version: number; identical: boolean; trouble: string };

export function replayWords(items: Compared[]): string {
  const stuck = items.filter((each) => each.trouble).length;
  const different = items.filter((each) => !each.identical && !each.trouble).length;
  const said = [
    different ? `${different} of ${items.length} ${different === 1 ? "differs" : "differ"}` : "",
    stuck ? `${stuck}${different ? "" : ` of ${items.length}`} cannot be replayed` : "",
  ].filter(Boolean);
  return said.join(", ") || (items.length === 1 ? "Identical, the one there is" : `Identical, all ${items.length}`);
}

/** What that proves of `name`, the version or document it was replayed with, and what it cannot. */
export function proofWords(items: Compared[], name: string): string {
  const same = items.filter((each) => each.identical).length;
  if (same === items.length)
    return `With what ${same === 1 ? "its log says" : "their logs say"} arrived, ${name} does what was done. Whether the outside world did what it answered, no log can prove.`;
  const rest =
    same === 0
      ? ""
      : same === 1
        ? `The other one does the same with ${name}. `
        : `The other ${same} do the same with ${name}. `;
  return `${rest}What the outside world would have answered after a first difference, no log knows.`;
}

/** Those that their own version replays otherwise: never mere change, always a question. */
export const strangers = <Item extends Compared>(items: Item[], version: number | null): Item[] =>
  items.filter((each) => each.version === version && !each.identical && !each.trouble);
