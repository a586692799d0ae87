/** Rules, sessions and modes of the planner: what pages read of them, and what can be done. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Rule = Schemas["RuleView"];
export type PlannerSession = Schemas["PlannerSession"];
export type PlannerStatus = Schemas["PlannerStatus"];
export type RulesTested = Schemas["RulesTested"];
export type Backtest = Schemas["Backtest"];
export type Proposal = Schemas["PlannerProposal"];
export type RulesDrafted = Schemas["RulesDrafted"];
export type BacktestChange = {
  rules?: RuleDocument[];
  every?: string;
  min_interval?: string;
  max_interval?: string;
};
export type Mode = "live" | "ask" | "shadow" | "off";
export type RuleDocument = Record<string, unknown>;
export type Owner = { endpoint: string } | { job: string };

export const plannerQuery = queryOptions({
  queryKey: ["planner", "status"],
  queryFn: () => data(api.GET("/api/v1/planner")),
});

export const rulesQuery = (of: { endpoint?: string } = {}) =>
  infiniteQueryOptions({
    queryKey: ["planner", "rules", of],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      data(
        api.GET("/api/v1/rules", {
          params: { query: { ...of, limit: 100, ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });

export const sessionsQuery = (of: { endpoint?: string } = {}, limit = 30) =>
  infiniteQueryOptions({
    queryKey: ["planner", "sessions", of, limit],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      data(
        api.GET("/api/v1/sessions", {
          params: { query: { ...of, limit, ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });

export const plannerSessionQuery = (session: string) =>
  queryOptions({
    queryKey: ["planner", "session", session],
    queryFn: () => data(api.GET("/api/v1/sessions/{session}", { params: { path: { session } } })),
  });

export const proposalsQuery = (of: { endpoint?: string; state?: Proposal["state"] } = {}) =>
  infiniteQueryOptions({
    queryKey: ["planner", "proposals", of],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      data(
        api.GET("/api/v1/proposals", {
          params: { query: { ...of, limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });

export const shadowQuery = queryOptions({
  queryKey: ["planner", "shadow"],
  queryFn: () => data(api.GET("/api/v1/planner/shadow", { params: { query: { limit: 50 } } })),
});

const ruleAt = (rule_id: string) => ({ params: { path: { rule_id } } });

/** What the owner keeps now, but for one rule: that is being changed. */
export async function otherRules(owner: Owner, but?: Rule): Promise<RuleDocument[]> {
  const kept = await data(api.GET("/api/v1/rules", { params: { query: { ...owner, limit: 200 } } }));
  return kept.items.filter((each) => each.id !== but?.id).map((each) => each.rule);
}

export const plannerActs = {
  setMode: (mode: Mode, undo = false) =>
    data(api.PUT("/api/v1/planner/mode", { body: { mode, undo } })) as Promise<Schemas["ModeSet"]>,
  setEndpointMode: (endpoint: string, mode: Mode, undo = false) =>
    data(
      api.PUT("/api/v1/endpoints/{endpoint}/planner-mode", { params: { path: { endpoint } }, body: { mode, undo } }),
    ) as Promise<Schemas["ModeSet"]>,
  approve: (proposal: string) =>
    data(api.POST("/api/v1/proposals/{proposal}/approve", { params: { path: { proposal } } })) as Promise<Proposal>,
  reject: (proposal: string, reason: string) =>
    data(
      api.POST("/api/v1/proposals/{proposal}/reject", { params: { path: { proposal } }, body: { reason } }),
    ) as Promise<Proposal>,
  look: (endpoint: string) => data(api.POST("/api/v1/endpoints/{endpoint}/look", { params: { path: { endpoint } } })),
  removeRule: (id: string) => data(api.DELETE("/api/v1/rules/{rule_id}", ruleAt(id))),
  addRule: (endpoint: string, rule: RuleDocument) => data(api.POST("/api/v1/rules", { body: { endpoint, rule } })),
  backtest: (owner: Owner, change: BacktestChange) =>
    data(api.POST("/api/v1/backtests", { body: { ...owner, ...change } })) as Promise<Backtest>,
  draftRules: (endpoint: string) =>
    data(api.POST("/api/v1/rules/draft", { body: { endpoint } })) as Promise<RulesDrafted>,
  testRules: (owner: Owner, rules: RuleDocument[]) =>
    data(api.POST("/api/v1/rules/test", { body: { ...owner, rules, limit: 200 } })) as Promise<RulesTested>,
};

/** Keep a rule, or with `dryRun` only learn whether it could be kept. A change names every key that went. */
export function putRule(owner: Owner, rule: RuleDocument, before: Rule | undefined, dryRun: boolean): Promise<unknown> {
  const query = { dry_run: dryRun };
  if (!before) return data(api.POST("/api/v1/rules", { params: { query }, body: { ...owner, rule } }));
  const gone = Object.fromEntries(
    Object.keys(before.rule)
      .filter((key) => !(key in rule))
      .map((key) => [key, null]),
  );
  return data(
    api.PATCH("/api/v1/rules/{rule_id}", {
      params: { path: { rule_id: before.id }, query },
      body: { rule: { ...rule, ...gone } },
    }),
  );
}
