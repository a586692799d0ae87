/** Connections: what pages read of them, and what can be done with them. */
import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Connection = Schemas["ConnectionView"];
export type ConnectionNew = Schemas["ConnectionNew"];
export type ConnectionPatch = Schemas["ConnectionPatch"];
export type ConnectionTest = Schemas["ConnectionTest"];

export const connectionsQuery = queryOptions({
  queryKey: ["settings", "connections"],
  queryFn: () => data(api.GET("/api/v1/connections")),
});

export const connectionQuery = (connection: string) =>
  queryOptions({
    queryKey: ["settings", "connection", connection],
    queryFn: () => data(api.GET("/api/v1/connections/{connection}", at(connection))),
  });

const at = (connection: string) => ({ params: { path: { connection } } });

export const connectionActs = {
  create: (body: ConnectionNew) => data(api.POST("/api/v1/connections", { body })) as Promise<Connection>,
  update: (id: string, body: ConnectionPatch) =>
    data(api.PATCH("/api/v1/connections/{connection}", { ...at(id), body })) as Promise<Connection>,
  remove: (id: string) => data(api.DELETE("/api/v1/connections/{connection}", at(id))),
  test: (id: string, path: string) =>
    data(api.POST("/api/v1/connections/{connection}/test", { ...at(id), body: { path: path || null } })),
};
