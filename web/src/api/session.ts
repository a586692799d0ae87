/** Who is signed in, and what that allows. */
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api, data, Problem } from "./client";
import type { components } from "./schema";
import { chosenTenant, forgetTenant } from "./tenant";

export type Session = components["schemas"]["Whoami"];
export type ScopeName = Session["scopes"][number];

const KEPT_AS = "mainspring-was-here";

/** Whether somebody was signed in here before: then a page's first readings need not wait to hear that they may. */
export const wasHere = (): boolean => localStorage.getItem(KEPT_AS) !== null;

export const forgetVisit = (): void => localStorage.removeItem(KEPT_AS);

async function readSession() {
  forgetVisit();
  const ask = () => data(api.GET("/api/v1/auth/session"));
  const session = await ask().catch((fault: unknown) => {
    if (!(fault instanceof Problem && fault.status === 404 && chosenTenant())) throw fault;
    forgetTenant(); // they no longer belong there; without this they could go nowhere else either
    return ask();
  });
  localStorage.setItem(KEPT_AS, "");
  return session;
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: readSession,
  staleTime: 60_000,
});

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}

/** Whether a button makes sense; the server decides all the same. */
export function useMay(scope: ScopeName): boolean {
  return useSession().scopes.includes(scope);
}
