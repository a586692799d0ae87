/** Somebody who belongs to several tenants works in one at a time; the choice is kept in this browser. */
const KEPT_AS = "mainspring-tenant";

export const chosenTenant = (): string | null => localStorage.getItem(KEPT_AS);

export function chooseTenant(tenant: string): void {
  localStorage.setItem(KEPT_AS, tenant);
  location.assign("/");
}

/** Where nothing was chosen the server takes the first by name, and a new tenant may come before the one that is open. */
export function stayIn(tenant: string | null): void {
  if (tenant && !chosenTenant()) localStorage.setItem(KEPT_AS, tenant);
}

export function forgetTenant(): void {
  localStorage.removeItem(KEPT_AS);
}
