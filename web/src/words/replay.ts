/** What a replay of many executions found, in a sentence. */
type Compared = { version: number; identical: boolean; trouble: string };

export function replayWords(items: Compared[]): string {
  const stuck = items.filter((each) => each.trouble).length;
  const different = items.filter((each) => !each.identical && !each.trouble).length;
  const said = [
    different ? `${different} of ${items.length} ${different === 1 ? "differs" : "differ"}` : "",
    stuck ? `${stuck}${different ? "" : ` of ${items.length}`} cannot be replayed` : "",
  ].filter(Boolean);
  return (
    said.join(", ") || (items.length === 1 ? "Identical (1 execution)" : `Identical (all ${items.length} executions)`)
  );
}

/** What that proves of `name`, the version or document it was replayed with, and what it cannot. */
export function proofWords(items: Compared[], name: string): string {
  const same = items.filter((each) => each.identical).length;
  if (same === items.length)
    return `Given the recorded inputs, ${name} produces the same steps. A log cannot prove what happened outside Mainspring.`;
  const rest =
    same === 0
      ? ""
      : same === 1
        ? `The other execution is identical with ${name}. `
        : `The other ${same} executions are identical with ${name}. `;
  return `${rest}Responses after the first difference cannot be known from a log.`;
}

/** Those that their own version replays otherwise: never mere change, always a question. */
export const strangers = <Item extends Compared>(items: Item[], version: number | null): Item[] =>
  items.filter((each) => each.version === version && !each.identical && !each.trouble);
