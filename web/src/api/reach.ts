/** Whether the server answers. While it does not, it is asked again; when it does, pages read everything again. */
import { useSyncExternalStore } from "react";

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 5_000; // how long a page may stay old after the server is back
const STEADY_MS = 30_000; // lost again sooner than this: only some of it answers, so ask less often

let isReached = true;
let reachedAt = 0;
let waitMs = WAIT_MS_MIN;
let timer: number | undefined;
const watchers = new Set<() => void>();
const returned = new Set<() => void>();

/** Call when the server answers after it did not; what is returned ends that. */
export function onReachedAgain(listener: () => void): () => void {
  returned.add(listener);
  return () => void returned.delete(listener);
}

export function useIsReached(): boolean {
  return useSyncExternalStore(watch, () => isReached);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

export function noteUnreached(): void {
  if (!isReached) return;
  isReached = false;
  waitMs = Date.now() - reachedAt > STEADY_MS ? WAIT_MS_MIN : Math.min(WAIT_MS_MAX, waitMs * 2);
  for (const each of watchers) each();
  wait();
}

export function noteReached(): void {
  if (!isReached) readAgain();
}

/** The server answers, or answers this person again: read everything that is shown. */
export function readAgain(): void {
  window.clearTimeout(timer);
  isReached = true;
  reachedAt = Date.now();
  for (const each of [...watchers, ...returned]) each();
}

function wait(): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void look(), waitMs);
}

async function look(): Promise<void> {
  const response = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
  if (isReached) return;
  if (response?.ok) return readAgain();
  waitMs = Math.min(WAIT_MS_MAX, waitMs * 2);
  wait();
}

/** A network that is back, or a person who looks at the page, need not wait for the next turn. */
function hurry(): void {
  if (!isReached && !document.hidden) void look();
}

/** Called once, by the page: modules that import this one are also tested without a page. */
export function watchReach(): void {
  window.addEventListener("online", hurry);
  document.addEventListener("visibilitychange", hurry);
}
