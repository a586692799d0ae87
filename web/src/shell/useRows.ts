/** A list under the keyboard: j and k move, Enter opens, x selects. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { useKeys } from "./keys";

export type Rows = {
  /** The row that the keyboard stands on; -1: none. */
  at: number;
  rowProps: (place: number) => { "data-chosen"?: "true"; "data-row": number };
};

export function useRows(
  count: number,
  open: (place: number) => void,
  select?: (place: number) => void,
  reveal?: (place: number) => void,
): Rows {
  const [at, setAt] = useState(-1);
  useEffect(() => {
    if (at >= count) setAt(count - 1);
  }, [at, count]);
  const move = useCallback(
    (by: number) => {
      const next = Math.max(0, Math.min(count - 1, at + by));
      setAt(next);
      if (reveal) reveal(next);
      else document.querySelector(`[data-row="${next}"]`)?.scrollIntoView({ block: "nearest" });
    },
    [at, count, reveal],
  );
  const actions = useMemo(() => {
    const found: Record<string, () => void> = { j: () => move(1), k: () => move(-1) };
    if (at >= 0) {
      found.Enter = () => open(at);
      if (select) found.x = () => select(at);
    }
    found["/"] = () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
    return found;
  }, [at, move, open, select]);
  useKeys(actions);
  return {
    at,
    rowProps: (place) => ({ "data-row": place, ...(place === at ? { "data-chosen": "true" as const } : {}) }),
  };
}
