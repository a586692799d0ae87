/** Scenarios, and playing them. */
import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

export type Played = components["schemas"]["Played"];
export type PlayedDecision = components["schemas"]["PlayedDecision"];

export const scenariosQuery = queryOptions({
  queryKey: ["simulations"],
  queryFn: () => data(api.GET("/api/v1/simulations")),
  staleTime: Infinity,
});

export type SimulationWish = { scenario?: string; document?: string; seed: number };
export const playScenario = (body: SimulationWish): Promise<Played> => data(api.POST("/api/v1/simulations", { body }));
