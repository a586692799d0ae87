/**
 * The tenant of this tab. The address names it (`/t/acme/endpoints`), every request carries it, and only loading
 * another address changes it: what another tab does has no effect here. Where the installation has one tenant,
 * addresses leave it out.
 */
const KEPT_AS = "mainspring-tenant"; // the last choice in this browser: the default of addresses that name no tenant
const NAMED = /^\/t\/([^/?#]+)(?=[/?#]|$)/;
const OF_NO_TENANT = ["/login", "/setup"];

const hasPage = typeof location !== "undefined"; // unit tests have none
const inAddress = hasPage ? (NAMED.exec(location.pathname)?.[1] ?? null) : null;
let current: string | null = inAddress ?? (hasPage ? localStorage.getItem(KEPT_AS) : null);
let isShown = inAddress !== null;

/** The tenant that requests of this tab act in; null until the server has said which one is the person's choice. */
export const tabTenant = (): string | null => current;

/** Whether the address asks for this tenant. If not, it is a default, and another one may take its place. */
export const isAddressed = (): boolean => inAddress !== null;

/** The header that names the tenant, for every request. */
export const tenantHeader = (): Record<string, string> => (current ? { "X-Mainspring-Tenant": current } : {});

/** The server said where this tab acts, and whether there is more than one tenant to tell apart. */
export function settleIn(tenant: string | null, isSole: boolean): void {
  current = tenant;
  isShown = tenant !== null && !isSole;
  if (tenant && localStorage.getItem(KEPT_AS) === null) localStorage.setItem(KEPT_AS, tenant);
}

export const rememberTenant = (tenant: string): void => localStorage.setItem(KEPT_AS, tenant);

/** Forget the default, as it belongs to whoever was signed in before. */
export function forgetTenant(): void {
  localStorage.removeItem(KEPT_AS);
  if (inAddress === null) current = null;
}

export const pathIn = (tenant: string, path = "/"): string => `/t/${tenant}${path}`;

/** A path of the UI, with or without its search, as the address bar shows it in this tab. */
export function addressOf(path: string): string {
  if (!isShown || !current || NAMED.test(path)) return path;
  return OF_NO_TENANT.includes(path.split(/[?#]/)[0] ?? "") ? path : pathIn(current, path);
}

/** The path of the UI behind an address of this tab. An address of another tenant stays whole: no page fits it. */
export function pathOf(address: string): string {
  const named = NAMED.exec(address);
  if (!named || named[1] !== current) return address;
  const rest = address.slice(named[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** An address of this site that one may be sent to after signing in; anything else leads to the front page. */
export function ownAddress(wanted: string | undefined): string {
  if (!wanted?.startsWith("/")) return "/";
  const url = new URL(wanted, location.origin);
  return url.origin === location.origin ? url.pathname + url.search + url.hash : "/";
}
