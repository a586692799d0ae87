/** What happens on the server reaches every open page through one connection: each event makes what it changed be read again. */
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { type LiveState, Stream } from "./stream";
import type { EventShown } from "./types";

const REST_MS = 700; // a burst of events is one reading, and none is shown later than a second
const FIRST_MS = 50; // after a quiet time the first is shown at once, with what was written beside it
const Live = createContext<LiveState>("connecting");
export const useLiveState = () => useContext(Live);

type Heard = (event: EventShown) => void;
const ears = new Set<Heard>();

/** Call for every event while the component is there. */
export function useEvents(hear: Heard): void {
  useEffect(() => {
    ears.add(hear);
    return () => void ears.delete(hear);
  }, [hear]);
}

/** The first part of the query keys that an event of a type makes old. */
export function touched(type: string): string[] {
  const subject = type.split(".")[0] ?? "";
  if (subject === "run" || subject === "manual_run") return ["endpoints", "runs", "dashboard", "events"];
  if (subject === "execution" || subject === "workflow") return ["flows", "events"];
  if (subject === "job") return ["jobs", "endpoints", "dashboard", "events"];
  if (["endpoint", "hint", "schedule", "backoff", "failures", "quota"].includes(subject)) return ["endpoints", "dashboard", "events"];
  if (["rule", "rules", "planner"].includes(subject)) return ["planner", "endpoints", "events"];
  return ["settings", "events"];
}

/** Somebody asked for the next page and it is on its way: reading again now would throw it away. */
function isPaging(query: Query): boolean {
  const meta = query.state.fetchMeta as { fetchMore?: object } | null;
  return query.state.fetchStatus === "fetching" && meta?.fetchMore !== undefined;
}

class Reader {
  private waiting = new Set<string>();
  private timer: number | undefined;
  private readAt = 0;
  constructor(private readonly client: QueryClient) {}

  add(keys: string[]): void {
    for (const key of keys) this.waiting.add(key);
    this.timer ??= window.setTimeout(() => this.read(), Math.max(FIRST_MS, this.readAt + REST_MS - Date.now()));
  }

  private read(): void {
    this.timer = undefined;
    this.readAt = Date.now();
    const keys = [...this.waiting];
    this.waiting.clear();
    for (const key of keys) {
      void this.client.invalidateQueries({ queryKey: [key], predicate: (query) => !isPaging(query) });
      if (this.client.getQueryCache().findAll({ queryKey: [key] }).some(isPaging)) this.add([key]);
    }
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
      onGap: () => void client.invalidateQueries(),
      onMessage: (message) => {
        const event = asEvent(message.data);
        if (!event) return;
        reader.add(touched(event.type));
        for (const hear of ears) hear(event);
      },
    });
    stream.start();
    return () => stream.stop();
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
