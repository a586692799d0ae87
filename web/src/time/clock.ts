/** What time it is at the server, once a second for everything on the page that counts. */
import { useSyncExternalStore } from "react";

let offsetMs = 0;
let nowMs = Date.now();
let timer: number | undefined;
const listeners = new Set<() => void>();

/** A server's `Date` header has whole seconds: below two seconds of difference ours is as good as theirs. */
export function learnServerTime(header: string | null): void {
  const at = header ? Date.parse(header) : NaN;
  if (Number.isNaN(at)) return;
  const found = at - Date.now();
  offsetMs = Math.abs(found) > 2000 ? found : 0;
}

export function serverNow(): number {
  return Date.now() + offsetMs;
}

function tick(): void {
  nowMs = serverNow();
  for (const listener of listeners) listener();
}

function schedule(): void {
  window.clearInterval(timer);
  timer = undefined;
  if (listeners.size && !document.hidden) {
    tick();
    timer = window.setInterval(tick, 1000);
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) schedule();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) schedule();
  };
}

if (typeof document !== "undefined") document.addEventListener("visibilitychange", schedule);

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** What `tell` makes of the present time; drawn again only when that changes, not every second. */
export function useClock<T extends string | number | null>(tell: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => tell(nowMs));
}
