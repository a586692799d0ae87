/** The shop's day as it goes on: where it stands, what ran in it, who slept, what was decided. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, data } from "../../api/client";
import { type DemoState, demoQuery } from "../../api/demo";
import { endpointsQuery } from "../../api/queries";
import type { EventShown, Run } from "../../api/types";
import type { Lane, Phase } from "../../parts/RunLanes";
import { serverNow } from "../../time/clock";

const STEP_MS = 500;
const OVERLAP_MS = 3000; // a run that started earlier may end, or be shown, later

export type Day = {
  state: DemoState;
  minute: number;
  startMs: number;
  phases: Phase[];
  current: DemoState["phases"][number];
};

/** The day's minute between two answers, as the clock goes on. */
export function useDemo(): { day: Day | null; fault: Error | null } {
  const { data: found, error: fault } = useQuery(demoQuery);
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => tick((count) => count + 1), STEP_MS);
    return () => window.clearInterval(timer);
  }, []);
  if (!found) return { day: null, fault };
  const elapsedMs = performance.now() - found.readAt;
  const minute = Math.min(found.minute + (elapsedMs * found.speed) / 60_000, found.minutes);
  const phases = found.phases.map((each, place) => ({
    from: each.from,
    to: found.phases[place + 1]?.from ?? found.minutes,
    phase: each.phase,
  }));
  const current = found.phases.findLast((each) => each.from <= minute) ?? found.phases[0];
  return {
    day: { state: found, minute, startMs: serverNow() - (minute * 60_000) / found.speed, phases, current },
    fault,
  };
}

export function useLanes(day: Day, events: EventShown[]): Lane[] {
  const runs = useRuns(day);
  const endpoints = useInfiniteQuery(endpointsQuery({}, 100));
  const known = new Map((endpoints.data?.pages ?? []).flatMap((page) => page.items).map((each) => [each.name, each]));
  const toMinute = (at: string) => ((Date.parse(at) - day.startMs) * day.state.speed) / 60_000;
  const turns = events.filter((event) => event.type === "endpoint.paused" || event.type === "endpoint.resumed");
  return day.state.endpoints.map(({ name, group }) => ({
    name,
    group,
    id: known.get(name)?.id,
    asleep: naps(
      turns.filter((event) => event.endpoint === name),
      toMinute,
      known.get(name)?.status === "paused",
      day.minute,
    ),
    runs: runs
      .filter((run) => run.endpoint === name)
      .map((run) => ({
        minute: toMinute(run.started_at),
        status: run.status,
        source: run.source,
        why: run.error ?? undefined,
      })),
  }));
}

function naps(turns: EventShown[], toMinute: (at: string) => number, isPaused: boolean, now: number): Lane["asleep"] {
  const found: Lane["asleep"] = [];
  let since: number | null = null;
  for (const event of turns) {
    const minute = toMinute(event.at);
    if (event.type === "endpoint.paused") since ??= minute;
    else {
      if (since !== null || !found.length) found.push({ from: since ?? 0, to: minute });
      since = null;
    }
  }
  if (since !== null || (!turns.length && isPaused)) found.push({ from: since ?? 0, to: now });
  return found;
}

const TOLD = new Set(["rule.fired", "endpoint.paused", "endpoint.resumed"]);

/** What was decided today, oldest first: read from the day's beginning, then only what is new. */
export function useEventsOf(day: Day): EventShown[] {
  const kept = useRef({ day: 0, cursor: "", events: [] as EventShown[] });
  const number = day.state.day;
  if (kept.current.day !== number) kept.current = { day: number, cursor: day.state.since, events: [] };
  useQuery({
    queryKey: ["demo", "events", number],
    refetchInterval: 1000,
    queryFn: async () => {
      const into = kept.current;
      for (let isMore = true; isMore; ) {
        const page = await data(api.GET("/api/v1/events", { params: { query: { cursor: into.cursor, limit: 200 } } }));
        into.events.push(...page.items.filter((event) => TOLD.has(event.type)));
        isMore = page.items.length === 200;
        into.cursor = page.next_cursor ?? into.cursor;
      }
      return into.events.length;
    },
  });
  return kept.current.events;
}

/** Every run of the day so far: read whole once, then only what is new. */
function useRuns(day: Day): Run[] {
  const kept = useRef({ day: 0, runs: new Map<string, Run>(), until: 0 });
  const number = day.state.day;
  if (kept.current.day !== number) kept.current = { day: number, runs: new Map(), until: day.startMs };
  useQuery({
    queryKey: ["demo", "runs", number],
    refetchInterval: 1000,
    queryFn: async () => {
      const into = kept.current;
      let cursor: string | null | undefined = null;
      do {
        const query = { since: new Date(into.until).toISOString(), limit: 200, ...(cursor ? { cursor } : {}) };
        const page: { items: Run[]; next_cursor: string | null } = await data(
          api.GET("/api/v1/runs", { params: { query } }),
        );
        for (const run of page.items) into.runs.set(run.id, run);
        cursor = page.next_cursor;
      } while (cursor);
      into.until = Math.max(into.until, serverNow() - OVERLAP_MS);
      return into.runs.size;
    },
  });
  return [...kept.current.runs.values()];
}
