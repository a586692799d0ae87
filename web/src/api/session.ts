/** Who is signed in, and what that allows. */
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api, data, Problem, toProblem, unreachable } from "./client";
import type { components } from "./schema";
import { forgetTenant, isAddressed, settleIn, tabTenant } from "./tenant";

export type Session = components["schemas"]["Whoami"];
export type ScopeName = Session["scopes"][number];

const KEPT_AS = "mainspring-was-here";

/** Whether somebody was signed in here before: then a page's first readings need not wait to hear that they may. */
export const wasHere = (): boolean => localStorage.getItem(KEPT_AS) !== null;

export const forgetVisit = (): void => localStorage.removeItem(KEPT_AS);

/** The address names a tenant that the person is not a member of. */
export class NotAMember extends Problem {
  constructor(
    readonly tenant: string,
    readonly session: Session,
  ) {
    super(404, "Not a member", `You are not a member of the tenant '${tenant}', or it does not exist.`);
  }
}

/** Who is signed in, in the tenant of their choice instead of this tab's. */
export async function sessionAnywhere(): Promise<Session> {
  const response = await fetch("/api/v1/auth/session").catch(() => {
    throw unreachable();
  });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toProblem(response, body);
  return body as Session;
}

async function readSession(): Promise<Session> {
  forgetVisit();
  const ask = () => data(api.GET("/api/v1/auth/session"));
  const session = await ask().catch(async (fault: unknown) => {
    const tenant = tabTenant();
    if (!(fault instanceof Problem && fault.status === 404 && tenant)) throw fault;
    if (isAddressed()) throw new NotAMember(tenant, await sessionAnywhere());
    forgetTenant(); // they no longer belong there; without this they could go nowhere else either
    return ask();
  });
  localStorage.setItem(KEPT_AS, "");
  settleIn(session.tenant, session.sole_tenant);
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

/** The name of this tab's tenant, where there is more than one to tell apart. */
export function useTenantName(): string | null {
  const session = useSession();
  if (session.sole_tenant || !session.tenant) return null;
  return session.tenants.find((each) => each.tenant === session.tenant)?.name || session.tenant;
}
