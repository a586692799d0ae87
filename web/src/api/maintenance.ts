/** Maintenance windows: what pages read of them, and what can be done with them. */
import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

export type MaintenanceWindow = components["schemas"]["MaintenanceView"];
export type MaintenanceNew = components["schemas"]["MaintenanceNew"];

const POLL_MS = 30_000; // a window opens and closes without an event

export const maintenanceQuery = queryOptions({
  queryKey: ["settings", "maintenance"],
  queryFn: () => data(api.GET("/api/v1/maintenance")),
  refetchInterval: POLL_MS,
});

const at = (window: string) => ({ params: { path: { window } } });

export const maintenanceActs = {
  create: (body: MaintenanceNew) => data(api.POST("/api/v1/maintenance", { body })) as Promise<MaintenanceWindow>,
  update: (id: string, body: Partial<MaintenanceNew>) =>
    data(api.PATCH("/api/v1/maintenance/{window}", { ...at(id), body })) as Promise<MaintenanceWindow>,
  remove: (id: string) => data(api.DELETE("/api/v1/maintenance/{window}", at(id))),
};
