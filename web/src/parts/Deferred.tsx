import { type ReactNode, useDeferredValue } from "react";

/**
 * What stands below the first sight of a page: drawn right after it, without holding up the click that opened the
 * page.
 */
export function Deferred({ children }: { children: ReactNode }) {
  const isNow = useDeferredValue(true, false);
  return isNow ? children : null;
}
