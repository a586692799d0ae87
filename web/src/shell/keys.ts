/** Keys that work on every page: one table, read by the listener and by the page that explains them. */
import { useEffect } from "react";

export type Key = { keys: string; means: string };
export const KEYS: { where: string; keys: Key[] }[] = [
  {
    where: "Everywhere",
    keys: [
      { keys: "Ctrl K", means: "Find a page, endpoint or action" },
      { keys: "?", means: "Show this list" },
      { keys: "g o", means: "Go to overview" },
      { keys: "g e", means: "Go to endpoints" },
      { keys: "g j", means: "Go to jobs" },
      { keys: "g r", means: "Go to runs" },
      { keys: "g v", means: "Go to events" },
      { keys: "g w", means: "Go to workflows" },
      { keys: "g x", means: "Go to executions" },
      { keys: "g p", means: "Go to planner" },
      { keys: "g m", means: "Go to simulation" },
      { keys: "g s", means: "Go to settings" },
      { keys: "t", means: "Show times relative, local or in UTC" },
      { keys: "c", means: "Create an endpoint" },
    ],
  },
  {
    where: "In a list",
    keys: [
      { keys: "j", means: "Next row" },
      { keys: "k", means: "Previous row" },
      { keys: "Enter", means: "Open the row" },
      { keys: "x", means: "Select the row" },
      { keys: "/", means: "Focus the filter" },
    ],
  },
];

/** Somebody types, or something lies over the page: keys are theirs. */
export function isBusy(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  if (target?.closest("input, textarea, select, [contenteditable=true], [role=menu], [role=listbox]")) return true;
  return document.querySelector("[role=dialog]") !== null;
}

/** `actions` by key, or by two keys in a row: "g e". */
export function useKeys(actions: Record<string, () => void>): void {
  useEffect(() => {
    let first = "";
    let firstAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if (isBusy(event)) return;
      const pair = event.timeStamp - firstAt < 1200 ? `${first} ${event.key}` : "";
      const action = actions[pair] ?? actions[event.key];
      first = event.key;
      firstAt = event.timeStamp;
      if (!action) return;
      event.preventDefault();
      first = "";
      action();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [actions]);
}
