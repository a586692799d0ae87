/** Calendars: what pages read of them, and what can be done with them. */
import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

export type Calendar = components["schemas"]["CalendarView"];
export type CalendarNew = components["schemas"]["CalendarNew"];

export const calendarsQuery = queryOptions({
  queryKey: ["settings", "calendars"],
  queryFn: () => data(api.GET("/api/v1/calendars")),
});

const at = (calendar: string) => ({ params: { path: { calendar } } });

/** With its next days, the endpoints that use it, and its iCalendar text. */
export const calendarQuery = (id: string) =>
  queryOptions({
    queryKey: ["settings", "calendar", id],
    queryFn: () => data(api.GET("/api/v1/calendars/{calendar}", at(id))),
  });

export const calendarActs = {
  create: (body: CalendarNew) => data(api.POST("/api/v1/calendars", { body })) as Promise<Calendar>,
  update: (id: string, body: Partial<CalendarNew>) =>
    data(api.PATCH("/api/v1/calendars/{calendar}", { ...at(id), body })) as Promise<Calendar>,
  remove: (id: string) => data(api.DELETE("/api/v1/calendars/{calendar}", at(id))),
};
