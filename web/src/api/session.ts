/** Who is signed in, and what that allows. */
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api, data } from "./client";
import type { components } from "./schema";

export type Session = components["schemas"]["Whoami"];
export type ScopeName = Session["scopes"][number];

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => data(api.GET("/api/v1/auth/session")),
  staleTime: 60_000,
});

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}

/** Whether a button makes sense; the server decides all the same. */
export function useMay(scope: ScopeName): boolean {
  return useSession().scopes.includes(scope);
}
