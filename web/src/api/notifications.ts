/** Alerts and webhooks: what pages read of them, and what can be done with them. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Alert = Schemas["AlertView"];
export type AlertNew = Schemas["AlertNew"];
export type Webhook = Schemas["WebhookView"];
export type WebhookMade = Schemas["WebhookCreated"];
export type WebhookNew = Schemas["WebhookNew"];
export type Delivery = Schemas["DeliveryView"];
export type Subscriber = { kind: "alert" | "webhook"; id: string; name: string; enabled: boolean };

export const alertsQuery = queryOptions({
  queryKey: ["settings", "alerts"],
  queryFn: () => data(api.GET("/api/v1/alerts")),
});
export const webhooksQuery = queryOptions({
  queryKey: ["settings", "webhooks"],
  queryFn: () => data(api.GET("/api/v1/webhooks")),
});

const DELIVERIES_PAGE = 50;
const POLL_MS = 4_000; // for each request: a list of ten pages is read again once in 40 s

export const deliveriesQuery = (of: Subscriber) =>
  infiniteQueryOptions({
    queryKey: ["settings", "deliveries", of.kind, of.id],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { limit: DELIVERIES_PAGE, ...(pageParam ? { cursor: pageParam } : { with_total: true }) };
      return of.kind === "alert"
        ? data(api.GET("/api/v1/alerts/{alert}/deliveries", { params: { path: { alert: of.id }, query } }))
        : data(api.GET("/api/v1/webhooks/{webhook}/deliveries", { params: { path: { webhook: of.id }, query } }));
    },
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state }) => POLL_MS * Math.max(1, state.data?.pages.length ?? 1), // attempts write no events
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
  update: (id: string, body: Partial<AlertNew>) =>
    data(api.PATCH("/api/v1/alerts/{alert}", { ...alertAt(id), body })) as Promise<Alert>,
  remove: (id: string) => data(api.DELETE("/api/v1/alerts/{alert}", alertAt(id))),
  test: (id: string) => data(api.POST("/api/v1/alerts/{alert}/test", alertAt(id))),
};

export const webhookActs = {
  create: (body: WebhookNew) => data(api.POST("/api/v1/webhooks", { body })) as Promise<WebhookMade>,
  update: (id: string, body: Partial<WebhookNew> & { new_secret?: boolean }) =>
    data(api.PATCH("/api/v1/webhooks/{webhook}", { ...webhookAt(id), body })) as Promise<WebhookMade>,
  remove: (id: string) => data(api.DELETE("/api/v1/webhooks/{webhook}", webhookAt(id))),
  test: (id: string) => data(api.POST("/api/v1/webhooks/{webhook}/test", webhookAt(id))),
  redeliver: (delivery: string) =>
    data(api.POST("/api/v1/deliveries/{delivery}/redeliver", { params: { path: { delivery } } })),
};
