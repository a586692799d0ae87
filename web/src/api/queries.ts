/** What pages read. The first part of a key says what makes it old; see `live`. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { CallFilters, EndpointFilters, EventFilters, Run, RunFilters } from "./types";

const PAGE = 50;
const NEXT_PAGE = 200; // who scrolls on wants many

/**
 * The page of a list that begins at a cursor. Of a whole list the first page also counts all, and the next ones are
 * longer.
 */
export const pageOf = (limit: number, cursor: string | null) =>
  limit === PAGE
    ? cursor
      ? { limit: NEXT_PAGE, cursor }
      : { limit, with_total: true }
    : { limit, ...(cursor ? { cursor } : {}) };

export const endpointsQuery = (filters: EndpointFilters, limit = PAGE) =>
  infiniteQueryOptions({
    queryKey: ["endpoints", "list", filters, limit],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { ...filters, ...pageOf(limit, pageParam) };
      return data(api.GET("/api/v1/endpoints", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
  });

export const endpointQuery = (endpoint: string) =>
  queryOptions({
    queryKey: ["endpoints", "one", endpoint],
    queryFn: () => data(api.GET("/api/v1/endpoints/{endpoint}", { params: { path: { endpoint } } })),
  });

export const pingUrlQuery = (endpoint: string) =>
  queryOptions({
    queryKey: ["endpoints", "ping-url", endpoint],
    queryFn: () => data(api.GET("/api/v1/endpoints/{endpoint}/ping-url", { params: { path: { endpoint } } })),
  });

export const decisionQuery = (endpoint: string) =>
  queryOptions({
    queryKey: ["endpoints", "decision", endpoint],
    queryFn: () => data(api.GET("/api/v1/endpoints/{endpoint}/decision", { params: { path: { endpoint } } })),
  });

export const previewQuery = (endpoint: string, failures?: number) =>
  queryOptions({
    queryKey: ["endpoints", "preview", endpoint, failures ?? null],
    queryFn: () =>
      data(
        api.GET("/api/v1/endpoints/{endpoint}/preview", {
          params: { path: { endpoint }, query: { count: 10, ...(failures === undefined ? {} : { failures }) } },
        }),
      ),
  });

export const healthQuery = (endpoint: string) =>
  queryOptions({
    queryKey: ["endpoints", "health", endpoint],
    queryFn: () => data(api.GET("/api/v1/endpoints/{endpoint}/health", { params: { path: { endpoint } } })),
  });

export const jobsQuery = queryOptions({
  queryKey: ["jobs"],
  queryFn: () => data(api.GET("/api/v1/jobs")),
});

export const callsQuery = (filters: CallFilters, limit = PAGE) =>
  infiniteQueryOptions({
    queryKey: ["calls", "list", filters, limit],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { ...filters, limit, ...(pageParam ? { cursor: pageParam } : {}) };
      return data(api.GET("/api/v1/calls", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
  });

/** The kinds of endpoints change with the server's version only. */
export const kindsQuery = queryOptions({
  queryKey: ["kinds"],
  queryFn: () => data(api.GET("/api/v1/kinds")),
  staleTime: Number.POSITIVE_INFINITY,
});

export const runsQuery = (filters: RunFilters, limit = PAGE) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filters, limit],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { ...filters, ...pageOf(limit, pageParam) };
      return data(api.GET("/api/v1/runs", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
  });

export const runQuery = (run: string) =>
  queryOptions({
    queryKey: ["runs", "one", run],
    queryFn: () => data(api.GET("/api/v1/runs/{run}", { params: { path: { run } } })),
  });

// How far to look for the next run, nearest first.
const AROUND_MS = [120_000, 3_600_000, 2 * 86_400_000, 40 * 86_400_000];

export type Neighbours = { before: string | null; after: string | null; attempts: Run[] };

/** The runs of the same endpoint just before and after this one, and the other attempts at its slot. */
export const neighboursQuery = (run: Run) =>
  queryOptions({
    queryKey: ["runs", "neighbours", run.id, run.endpoint_id],
    queryFn: async (): Promise<Neighbours> => {
      const list = (query: { since?: string; until: string; limit: number }) =>
        data(
          api.GET("/api/v1/endpoints/{endpoint}/runs", {
            params: { path: { endpoint: run.endpoint_id }, query: query },
          }),
        );
      // Ids follow time.
      const earlier = (await list({ until: run.started_at, limit: 10 })).items.filter((each) => each.id < run.id);
      let later: Run[] = [];
      for (const span of AROUND_MS) {
        const found = (
          await list({
            since: run.started_at,
            until: new Date(Date.parse(run.started_at) + span).toISOString(),
            limit: 200,
          })
        ).items;
        // An id may be made just before the run starts, so it need not be among them itself.
        later = found.filter((each) => each.id > run.id);
        if (later.length) break;
      }
      const attempts = [...later, run, ...earlier]
        .filter((each) => each.slot_at === run.slot_at && each.trigger !== "test")
        .reverse();
      return { before: earlier[0]?.id ?? null, after: later.at(-1)?.id ?? null, attempts };
    },
  });

export const statsQuery = queryOptions({
  queryKey: ["dashboard", "stats"],
  queryFn: () => data(api.GET("/api/v1/dashboard/stats")),
  refetchInterval: 30_000,
});

export const activityQuery = (hours: number) =>
  queryOptions({
    queryKey: ["dashboard", "activity", hours],
    queryFn: () => data(api.GET("/api/v1/dashboard/activity", { params: { query: { hours, limit: 60 } } })),
  });

export const upcomingQuery = (limit: number) =>
  queryOptions({
    queryKey: ["dashboard", "upcoming", limit],
    queryFn: () => data(api.GET("/api/v1/dashboard/upcoming", { params: { query: { limit } } })),
  });

export const workersQuery = queryOptions({
  queryKey: ["dashboard", "workers"],
  queryFn: () => data(api.GET("/api/v1/workers")),
  refetchInterval: 15_000,
});

export const eventsQuery = (filters: EventFilters, limit: number) =>
  queryOptions({
    queryKey: ["events", filters, limit],
    queryFn: () => data(api.GET("/api/v1/events", { params: { query: { ...filters, limit } } })),
  });

export type Recent = { runs: { id: string; status: string; duration_ms: number | null }[]; p95_ms: number | null };

/** The last 30 runs of each endpoint that is shown. */
export const recentQuery = (endpoints: string[]) =>
  queryOptions({
    queryKey: ["runs", "recent", endpoints],
    queryFn: async () => {
      const found: Record<string, Recent> = {};
      for (let start = 0; start < endpoints.length; start += 50) {
        const query = { endpoint: endpoints.slice(start, start + 50) };
        const answer = await data(api.GET("/api/v1/dashboard/recent", { params: { query } }));
        for (const each of answer.items) found[each.endpoint_id] = each;
      }
      return found;
    },
    placeholderData: (before) => before,
  });
