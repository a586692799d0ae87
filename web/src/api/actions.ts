/** What can be done with endpoints and jobs: one function per verb of the API. */
import { api, data } from "./client";
import type { CallNew, Checked, Endpoint, EndpointFilters, EndpointNew, EndpointRehearsed } from "./types";

export type Pause = { duration?: string; until?: string; reason?: string; advice_may_resume?: boolean };
export type IntervalHint = { every: string; ttl: string; reason: string };
export type OneShotHint = { after: string; reason: string };
type Patch = Partial<EndpointNew>;

const at = (endpoint: string) => ({ params: { path: { endpoint } } });

export const acts = {
  run: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/run", at(endpoint))),
  pause: (endpoint: string, body: Pause = {}) =>
    data(api.POST("/api/v1/endpoints/{endpoint}/pause", { ...at(endpoint), body })),
  resume: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/resume", at(endpoint))),
  reset: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/reset-failures", at(endpoint))),
  test: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/test", at(endpoint))),
  archive: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/archive", at(endpoint))),
  remove: (endpoint: string) => data(api.DELETE("/api/v1/endpoints/{endpoint}", at(endpoint))),
  createPingUrl: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/ping-url", at(endpoint))),
  revokePingUrl: (endpoint: string) => data(api.DELETE("/api/v1/endpoints/{endpoint}/ping-url", at(endpoint))),
  clearHints: (endpoint: string) => data(api.DELETE("/api/v1/endpoints/{endpoint}/hints", at(endpoint))),
  hintInterval: (endpoint: string, body: IntervalHint) =>
    data(api.PUT("/api/v1/endpoints/{endpoint}/hints/interval", { ...at(endpoint), body })),
  hintOnce: (endpoint: string, body: OneShotHint) =>
    data(api.PUT("/api/v1/endpoints/{endpoint}/hints/one-shot", { ...at(endpoint), body })),
  create: (body: EndpointNew) => data(api.POST("/api/v1/endpoints", { body })) as Promise<Endpoint>,
  update: (endpoint: string, body: Patch, version: string) =>
    data(
      api.PATCH("/api/v1/endpoints/{endpoint}", {
        params: { path: { endpoint }, header: { "if-match": version } },
        body,
      }),
    ) as Promise<Endpoint>,
  check: (body: EndpointNew) => data(api.POST("/api/v1/endpoints/check", { body })) as Promise<Checked>,
  rehearseCreate: (body: EndpointNew) =>
    data(api.POST("/api/v1/endpoints", { params: { query: { dry_run: true } }, body })) as Promise<EndpointRehearsed>,
  rehearseUpdate: (endpoint: string, body: Patch) =>
    data(
      api.PATCH("/api/v1/endpoints/{endpoint}", {
        params: { path: { endpoint }, query: { dry_run: true } },
        body,
      }),
    ) as Promise<EndpointRehearsed>,
};

export type BulkVerb = "run" | "pause" | "resume" | "clear-hints" | "reset-failures" | "archive";
export type Chosen = { ids: string[] } | { matching: Omit<EndpointFilters, "sort"> };
export type BulkTotal = { matched: number; changed: number; refused: number; first: string };

const IDS_MAX = 500; // that one request takes

/** One act over all that were chosen, a batch a request; `tell` hears after each how far it is. */
export async function bulkAct(
  verb: BulkVerb,
  chosen: Chosen,
  pause: Pause,
  dryRun: boolean,
  tell?: (matched: number) => void,
): Promise<BulkTotal> {
  const total: BulkTotal = { matched: 0, changed: 0, refused: 0, first: "" };
  const parts: Chosen[] =
    "ids" in chosen
      ? Array.from({ length: Math.ceil(chosen.ids.length / IDS_MAX) }, (_, at) => ({
          ids: chosen.ids.slice(at * IDS_MAX, (at + 1) * IDS_MAX),
        }))
      : [chosen];
  for (const part of parts) {
    let cursor: string | null = null;
    do {
      const query: { dry_run: boolean; cursor?: string } = { dry_run: dryRun, ...(cursor ? { cursor } : {}) };
      const done: {
        matched: number;
        changed: number;
        refused_count: number;
        refused: { why: string }[];
        next_cursor: string | null;
      } =
        verb === "archive"
          ? await data(api.POST("/api/v1/bulk/archive", { params: { query }, body: part }))
          : await data(
              api.POST("/api/v1/bulk/act", {
                params: { query },
                body: { ...part, verb, ...(verb === "pause" ? pause : {}) },
              }),
            );
      total.matched += done.matched;
      total.changed += done.changed;
      total.refused += done.refused_count;
      total.first ||= done.refused[0]?.why ?? "";
      tell?.(total.matched);
      cursor = done.next_cursor;
    } while (cursor);
  }
  return total;
}

export const callActs = {
  create: (call: CallNew) => data(api.POST("/api/v1/calls", { body: { calls: [call] } })),
  cancel: (call: string) => data(api.POST("/api/v1/calls/{call}/cancel", { params: { path: { call } } })),
};

const job = (name: string) => ({ params: { path: { job: name } } });

export const jobActs = {
  create: (body: { name: string; description: string }) => data(api.POST("/api/v1/jobs", { body })),
  update: (name: string, body: { name?: string; description?: string }) =>
    data(api.PATCH("/api/v1/jobs/{job}", { ...job(name), body })),
  pause: (name: string) => data(api.POST("/api/v1/jobs/{job}/pause", job(name))),
  resume: (name: string) => data(api.POST("/api/v1/jobs/{job}/resume", job(name))),
  archive: (name: string) => data(api.POST("/api/v1/jobs/{job}/archive", job(name))),
};
