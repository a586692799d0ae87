/** How the demo stands; only `mainspring demo` tells it, so it is not in the API's document. */
import { queryOptions } from "@tanstack/react-query";
import { read } from "./client";

export type DemoPhase = {
  from: number;
  phase: string;
  visitors: number;
  orders: number;
  page_load_ms: number;
  inventory_lag_ms: number;
  db_query_ms: number;
};
export type DemoState = {
  name: string;
  description: string;
  speed: number;
  day: number;
  since: string;
  minute: number;
  minutes: number;
  phases: [DemoPhase, ...DemoPhase[]];
  endpoints: { name: string; group: string }[];
  messages: { at: string; type: string; title: string; text: string }[];
};

export const demoQuery = queryOptions({
  queryKey: ["demo"],
  queryFn: async () => {
    const state = await read<DemoState>("/api/v1/demo");
    return { ...state, readAt: performance.now() };
  },
  refetchInterval: 2000,
});
