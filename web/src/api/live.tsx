/**
 * What happens on the server reaches every open page through one connection: each event makes what it changed be read
 * again, at a bounded rate.
 */
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { concerns, joined } from "./concerns";
import { onReachedAgain } from "./reach";
import { type LiveState, Stream } from "./stream";
import type { EventShown } from "./types";

const COST_MS = 2_000; // a request for events uses up so much time: at most 30 a minute
const FRESH_MS = 3_000; // what was read so lately is not read again yet
const FIRST_MS = 50; // after a quiet time the first is shown at once, with what was written beside it
const TOLD_MAX = 200; // events kept for lists that are being read; the longest list shows as many
const Live = createContext<LiveState>("connecting");
export const useLiveState = () => useContext(Live);

type Heard = (event: EventShown) => void;
const listeners = new Set<Heard>();

/** Call for every event while the component is there. */
export function useEvents(hear: Heard): void {
  useEffect(() => {
    listeners.add(hear);
    return () => void listeners.delete(hear);
  }, [hear]);
}

/** Reading again now would throw away an answer that is on its way, or read what has just been read. */
const isTooFresh = ({ state }: Query): boolean =>
  state.fetchStatus === "fetching" || Date.now() - state.dataUpdatedAt < FRESH_MS;

const requestsOf = (query: Query): number =>
  Math.max(1, (query.state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 1);

/** Reads again what events made old.
 *
 * 1. After a quiet time the first event is shown at once. Each request then costs `COST_MS` in which the rest waits,
 *    so a tab sends at most 60,000 / COST_MS requests a minute for events, however many come and however long its list.
 * 2. What was read within the last `FRESH_MS` waits too, and so does everything while a page still opens: a page that
 *    just opened does not read everything twice. That includes what was read for a page that is not drawn yet.
 * 3. A hidden tab reads nothing; what is old is read when it is shown again.
 * 4. Lists of events are not read again. The stream's events join them; only a list older than the stream is read once.
 */
class Reader {
  private old = new Set<string>(); // hashes of queries
  private told: EventShown[] = [];
  private joinedLists = new Set<string>();
  private timer: number | undefined;
  private freeAt = Date.now() + FRESH_MS; // the page has just been read
  constructor(private readonly client: QueryClient) {}

  hear(event: EventShown): void {
    this.told = [...this.told.slice(1 - TOLD_MAX), event];
    for (const query of this.client.getQueryCache().getAll()) {
      if (query.queryKey[0] === "events") this.join(query);
      else if (concerns(event, query.queryKey)) this.makeOld(query);
    }
    this.plan();
  }

  /** Events may have been missed: all that is shown is old. */
  missed(): void {
    this.joinedLists.clear();
    this.told = [];
    for (const query of this.client.getQueryCache().getAll()) if (query.queryKey[0] !== "session") this.makeOld(query);
    this.plan();
  }

  start(): void {
    document.addEventListener("visibilitychange", this.plan);
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.plan);
    window.clearTimeout(this.timer);
  }

  private makeOld(query: Query): void {
    if (query.getObserversCount() || isTooFresh(query)) this.old.add(query.queryHash);
    else query.invalidate(); // no page shows it: it is read when one asks
  }

  private join(query: Query): void {
    const [, filters, limit] = query.queryKey as [string, { type?: string; endpoint?: string }, number];
    const fits = (event: EventShown) =>
      (!filters.type || event.type === filters.type) &&
      (!filters.endpoint || event.endpoint_id === filters.endpoint || event.endpoint === filters.endpoint);
    if (!this.joinedLists.has(query.queryHash)) this.makeOld(query);
    this.client.setQueryData(
      query.queryKey,
      (before: { items: EventShown[] } | undefined) =>
        before && { ...before, items: joined(before.items, this.told.filter(fits), limit) },
      { updatedAt: query.state.dataUpdatedAt }, // the list itself was not read
    );
  }

  private plan = (): void => {
    if (!this.old.size || document.hidden || this.timer !== undefined) return;
    this.timer = window.setTimeout(() => this.read(), Math.max(FIRST_MS, this.freeAt - Date.now()));
  };

  private read(): void {
    this.timer = undefined;
    if (document.hidden) return;
    let cost = 0;
    let waits = false;
    const isOpening = this.client.isFetching({ predicate: (query) => query.state.data === undefined }) > 0;
    for (const hash of [...this.old]) {
      const query = this.client.getQueryCache().get(hash);
      if (!query) this.old.delete(hash);
      else if (isOpening || isTooFresh(query)) waits = true;
      else if (!query.getObserversCount()) {
        query.invalidate();
        this.old.delete(hash);
      } else {
        this.old.delete(hash);
        cost += requestsOf(query) * COST_MS;
        void this.client.refetchQueries({ queryKey: query.queryKey, exact: true, type: "active" }).then(() => {
          if (query.queryKey[0] !== "events") return;
          this.joinedLists.add(hash);
          this.join(query);
        });
      }
    }
    this.freeAt = Date.now() + Math.max(cost, waits ? FIRST_MS * 5 : 0);
    this.plan();
  }
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [state, setState] = useState<LiveState>("connecting");
  useEffect(() => {
    const reader = new Reader(client);
    const stream = new Stream({
      url: "/api/v1/events/stream",
      onState: setState,
      onGap: () => reader.missed(),
      onMessage: (message) => {
        const event = asEvent(message.data);
        if (!event) return;
        reader.hear(event);
        for (const hear of listeners) hear(event);
      },
    });
    reader.start();
    stream.start();
    const forget = onReachedAgain(() => stream.wake());
    return () => {
      forget();
      stream.stop();
      reader.stop();
    };
  }, [client]);
  return <Live value={state}>{children}</Live>;
}

function asEvent(text: string): EventShown | null {
  try {
    const found = JSON.parse(text) as EventShown;
    return typeof found?.type === "string" ? found : null;
  } catch {
    return null;
  }
}
