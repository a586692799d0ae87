/** Alerts and webhooks: what pages read of them, and what can be done with them. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Alert = Schemas["Alert"];
export type AlertNew = Schemas["AlertNew"];
export type Webhook = Schemas["Webhook"];
export type WebhookMade = Schemas["WebhookMade"];
export type WebhookNew = Schemas["WebhookNew"];
export type Delivery = Schemas["Delivery"];
export type Subscriber = { kind: "alert" | "webhook"; id: string; name: string };

export const alertsQuery = queryOptions({ queryKey: ["settings", "alerts"], queryFn: () => data(api.GET("/api/v1/alerts")) });
export const webhooksQuery = queryOptions({ queryKey: ["settings", "webhooks"], queryFn: () => data(api.GET("/api/v1/webhooks")) });

const DELIVERIES_PAGE = 20;

export const deliveriesQuery = (of: Subscriber) =>
  infiniteQueryOptions({
    queryKey: ["settings", "deliveries", of.kind, of.id],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { limit: DELIVERIES_PAGE, ...(pageParam ? { cursor: pageParam } : {}) };
      return of.kind === "alert"
        ? data(api.GET("/api/v1/alerts/{alert}/deliveries", { params: { path: { alert: of.id }, query } }))
        : data(api.GET("/api/v1/webhooks/{webhook}/deliveries", { params: { path: { webhook: of.id }, query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: 2000, // attempts are no events: whoever looks at deliveries asks
  });

export const deliveryQuery = (delivery: string) =>
  queryOptions({
    queryKey: ["settings", "delivery", delivery],
    queryFn: () => data(api.GET("/api/v1/deliveries/{delivery}", { params: { path: { delivery } } })),
  });

const alertAt = (alert: string) => ({ params: { path: { alert } } });
const webhookAt = (webhook: string) => ({ params: { path: { webhook } } });

export const alertActs = {
  create: (body: AlertNew) => data(api.POST("/api/v1/alerts", { body })) as Promise<Alert>,
  update: (id: string, body: Partial<AlertNew>) => data(api.PATCH("/api/v1/alerts/{alert}", { ...alertAt(id), body: body as never })) as Promise<Alert>,
  remove: (id: string) => data(api.DELETE("/api/v1/alerts/{alert}", alertAt(id))),
  test: (id: string) => data(api.POST("/api/v1/alerts/{alert}/test", alertAt(id))),
};

export const webhookActs = {
  create: (body: WebhookNew) => data(api.POST("/api/v1/webhooks", { body })) as Promise<WebhookMade>,
  update: (id: string, body: Partial<WebhookNew> & { new_secret?: boolean }) =>
    data(api.PATCH("/api/v1/webhooks/{webhook}", { ...webhookAt(id), body: body as never })) as Promise<WebhookMade>,
  remove: (id: string) => data(api.DELETE("/api/v1/webhooks/{webhook}", webhookAt(id))),
  test: (id: string) => data(api.POST("/api/v1/webhooks/{webhook}/test", webhookAt(id))),
  redeliver: (delivery: string) => data(api.POST("/api/v1/deliveries/{delivery}/redeliver", { params: { path: { delivery } } })),
};
