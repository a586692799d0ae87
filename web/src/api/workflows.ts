/** Workflows and their executions: what pages read, and what they do. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { pageOf } from "./queries";
import type { components } from "./schema";
import type { ExecutionFilters } from "./types";

type Schemas = components["schemas"];
export type Workflow = Schemas["WorkflowView"];
export type Execution = Schemas["ExecutionView"];
export type ExecutionInFull = Schemas["ExecutionDetailView"];
export type StateAt = Schemas["StateAt"];
export type Graph = Schemas["Graph"];
export type Moment = Schemas["TimelineEntryView"];
export type Simulated = Schemas["Simulated"];
export type SimulatedEvent = Schemas["SimulatedEventInput"];
export type ReplayedMany = Schemas["ReplayedMany"];
export type WorkflowRehearsed = Schemas["WorkflowDryRun"];

const POLL_MS = 5_000; // for each request: a list of ten pages is read again once in 50 s
const ENDED = new Set(["completed", "cancelled"]);
const of = (workflow: string) => ({ params: { path: { workflow } } });
const at = (execution: string) => ({ params: { path: { execution } } });

export const workflowsQuery = queryOptions({
  queryKey: ["flows", "workflows"],
  queryFn: () => data(api.GET("/api/v1/workflows")),
});
export const archivedWorkflowsQuery = queryOptions({
  queryKey: ["flows", "workflows", "archived"],
  queryFn: () => data(api.GET("/api/v1/workflows", { params: { query: { archived: true } } })),
});
export const workflowQuery = (workflow: string, version?: number) =>
  queryOptions({
    queryKey: ["flows", "workflow", workflow, version ?? null],
    queryFn: () =>
      version === undefined
        ? data(api.GET("/api/v1/workflows/{workflow}", of(workflow)))
        : data(api.GET("/api/v1/workflows/{workflow}/versions/{version}", { params: { path: { workflow, version } } })),
  });
export const versionsQuery = (workflow: string) =>
  queryOptions({
    queryKey: ["flows", "versions", workflow],
    queryFn: () => data(api.GET("/api/v1/workflows/{workflow}/versions", of(workflow))),
  });
export const diffQuery = (workflow: string, old: number, latest: number) =>
  queryOptions({
    queryKey: ["flows", "diff", workflow, old, latest],
    queryFn: () =>
      data(
        api.GET("/api/v1/workflows/{workflow}/diff", { params: { path: { workflow }, query: { old, new: latest } } }),
      ),
  });
export const graphQuery = (workflow: string, version: number) =>
  queryOptions({
    queryKey: ["flows", "graph", workflow, version],
    queryFn: () =>
      data(api.GET("/api/v1/workflows/{workflow}/graph", { params: { path: { workflow }, query: { version } } })),
    staleTime: Infinity, // a version never changes
  });
export const executionsQuery = (filters: ExecutionFilters, limit = 50) =>
  infiniteQueryOptions({
    queryKey: ["flows", "executions", filters, limit],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const { status, ...rest } = filters;
      const query = { ...rest, ...pageOf(limit, pageParam), ...(status && status !== "attention" ? { status } : {}) };
      return status === "attention"
        ? data(
            api.GET("/api/v1/executions/attention", {
              params: {
                query: { ...pageOf(limit, pageParam), ...(filters.workflow ? { workflow: filters.workflow } : {}) },
              },
            }),
          )
        : data(api.GET("/api/v1/executions", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
    // Steps that move write no event, only their log.
    refetchInterval: ({ state }) => POLL_MS * Math.max(1, state.data?.pages.length ?? 1),
  });
export const executionQuery = (execution: string) =>
  queryOptions({
    queryKey: ["flows", "execution", execution],
    queryFn: () => data(api.GET("/api/v1/executions/{execution}", at(execution))),
    refetchInterval: ({ state }) => (state.data && ENDED.has(state.data.status) ? false : POLL_MS),
  });
export const momentsQuery = (execution: string, entries: number) =>
  queryOptions({
    queryKey: ["flows", "moments", execution, entries],
    queryFn: () =>
      data(
        api.GET("/api/v1/executions/{execution}/timeline", { params: { path: { execution }, query: { limit: 1000 } } }),
      ),
    placeholderData: (before) => before,
  });
export const logQuery = (execution: string, entries: number) =>
  queryOptions({
    queryKey: ["flows", "log", execution, entries],
    queryFn: () =>
      data(api.GET("/api/v1/executions/{execution}/log", { params: { path: { execution }, query: { limit: 1000 } } })),
    placeholderData: (before) => before,
  });
export const stateQuery = (execution: string, entries: number, tick: number | null) =>
  queryOptions({
    queryKey: ["flows", "state", execution, entries, tick],
    queryFn: () =>
      data(
        api.GET("/api/v1/executions/{execution}/state", {
          params: { path: { execution }, query: tick === null ? {} : { tick } },
        }),
      ),
    placeholderData: (before) => before,
  });

export type Verb = "pause" | "resume" | "cancel" | "retry" | "skip";
export type BulkCommand = Schemas["BulkExecutionRequest"];
export const flowActs = {
  simulate: (body: Schemas["WorkflowSimulationRequest"]) =>
    data(api.POST("/api/v1/workflows/simulate", { body })) as Promise<Simulated>,
  rehearse: (document: string) =>
    data(
      api.POST("/api/v1/workflows", { params: { query: { dry_run: true } }, body: { document } }),
    ) as Promise<WorkflowRehearsed>,
  publish: (document: string) =>
    data(api.POST("/api/v1/workflows", { body: { document } })) as Promise<Schemas["WorkflowPublished"]>,
  start: (workflow: string, body: { input: Record<string, unknown>; correlation: string }) =>
    data(api.POST("/api/v1/workflows/{workflow}/start", { ...of(workflow), body })) as Promise<ExecutionInFull>,
  archive: (workflow: string) => data(api.POST("/api/v1/workflows/{workflow}/archive", of(workflow))),
  restore: (workflow: string) => data(api.POST("/api/v1/workflows/{workflow}/restore", of(workflow))),
  order: (execution: string, verb: Verb, reason: string) =>
    data(
      api.POST(`/api/v1/executions/{execution}/${verb}` as "/api/v1/executions/{execution}/pause", {
        ...at(execution),
        body: { reason },
      }),
    ),
  orderMany: (body: BulkCommand) =>
    data(api.POST("/api/v1/executions/order", { body })) as Promise<Schemas["BulkCommandSent"]>,
  rehearseMany: (body: BulkCommand) =>
    data(api.POST("/api/v1/executions/order", { params: { query: { dry_run: true } }, body })) as Promise<
      Schemas["BulkCommandDryRun"]
    >,
  erase: (execution: string, reason: string) =>
    data(api.POST("/api/v1/executions/{execution}/erase", { ...at(execution), body: { reason } })),
  send: (body: { to: string; type: string; data: Record<string, unknown> }) =>
    data(api.POST("/api/v1/executions/send", { body })),
  verify: (execution: string) => data(api.GET("/api/v1/executions/{execution}/verify", at(execution))),
  replay: (execution: string, version: number | null) =>
    data(
      api.POST("/api/v1/executions/{execution}/replay", {
        ...at(execution),
        body: version === null ? {} : { version },
      }),
    ),
  replayMany: (workflow: string, body: { version?: number; document?: string; limit: number }) =>
    data(api.POST("/api/v1/workflows/{workflow}/replay", { ...of(workflow), body })) as Promise<ReplayedMany>,
};
