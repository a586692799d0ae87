/** Users and tenants of the whole installation, for its operators. */
import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type User = Schemas["UserView"];
export type Tenant = Schemas["TenantView"];

export const usersQuery = queryOptions({
  queryKey: ["settings", "users"],
  queryFn: () => data(api.GET("/api/v1/users")),
});
export const tenantsQuery = queryOptions({
  queryKey: ["settings", "tenants"],
  queryFn: () => data(api.GET("/api/v1/tenants")),
});

const of = (user: string) => ({ params: { path: { user } } });
const withLink = async (asked: Promise<unknown>) => {
  const { user, link } = (await asked) as Schemas["Invited"];
  return { email: user.email, link: link ?? "" };
};

export const userActs = {
  create: (body: Schemas["UserNew"]) => withLink(data(api.POST("/api/v1/users", { body }))),
  update: (user: string, body: { disabled?: boolean; operator?: boolean }) =>
    data(api.PATCH("/api/v1/users/{user}", { ...of(user), body })) as Promise<User>,
  link: (user: string) => withLink(data(api.POST("/api/v1/users/{user}/link", of(user)))),
};

export const tenantActs = {
  create: (body: Schemas["TenantNew"]) => data(api.POST("/api/v1/tenants", { body })) as Promise<Tenant>,
  update: (tenant: string, body: Schemas["QuotaPatch"]) =>
    data(api.PATCH("/api/v1/tenants/{tenant}", { params: { path: { tenant } }, body })) as Promise<Tenant>,
};
