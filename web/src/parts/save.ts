/** Save what the API answers as a file. A plain link would ask without this tab's tenant, and find nothing of it. */
import { toProblem, unreachable } from "../api/client";
import { tenantHeader } from "../api/tenant";

const KEPT_MS = 60_000; // a browser may ask its person where to, before it reads

export async function save(path: string, name: string): Promise<void> {
  const response = await fetch(path, { headers: tenantHeader() }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw toProblem(response, await response.json().catch(() => null));
  const url = URL.createObjectURL(await response.blob());
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
