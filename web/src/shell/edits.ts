/** Forms with changes that are not saved: leaving them asks first, and an expired session must not throw them away. */
import { useBlocker } from "@tanstack/react-router";
import { useEffect, useState } from "react";

const edited = new Set<object>();

export const hasEdits = (): boolean => edited.size > 0;

const place = (at: { pathname: string; search: unknown }): string => at.pathname + JSON.stringify(at.search);

/** What a form needs to ask before it is left: whether it asks now, and the two answers. */
export type Leaving = { isAsking: boolean; stay: () => void; leave: () => void };

/**
 * While `isEdited`, following a link, going back and closing the tab ask first.
 * Navigate with `ignoreBlocker` after saving.
 */
export function useEdits(isEdited: boolean): Leaving {
  const [form] = useState(() => ({}));
  useEffect(() => {
    if (!isEdited) return;
    edited.add(form);
    return () => void edited.delete(form);
  }, [form, isEdited]);
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isEdited && place(current) !== place(next),
    enableBeforeUnload: () => isEdited,
    withResolver: true,
  });
  const isAsking = blocker.status === "blocked";
  return { isAsking, stay: () => blocker.reset?.(), leave: () => blocker.proceed?.() };
}
