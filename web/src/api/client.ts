/** The public API, typed by its own document. Whatever it refuses arrives as one kind of error. */
import createClient from "openapi-fetch";
import { learnServerTime } from "../time/clock";
import { noteReached, noteUnreached } from "./reach";
import type { paths } from "./schema";
import { tenantHeader } from "./tenant";
import { noteWritten } from "./written";

export type Fault = { detail: string; pointer?: string; parameter?: string };

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly faults: Fault[] = [],
    readonly requestId = "",
    readonly kind = "",
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** What was wrong with one field of the body, if that was it. */
  of(field: string): string | undefined {
    return this.faults.find((fault) => fault.pointer === `/${field}` || fault.pointer?.startsWith(`/${field}/`))
      ?.detail;
  }
}

export const UNREACHABLE = 0;
export const unreachable = () =>
  new Problem(
    UNREACHABLE,
    "Server unreachable",
    "The server is not responding. Check that it is running and that this machine is online.",
  );

let signInAgain = (): Promise<boolean> => Promise.resolve(false);
/**
 * What happens when an answer says that the session is over: true means that the person signed in, so ask once more.
 */
export function onSessionOver(listener: () => Promise<boolean>): void {
  signInAgain = listener;
}

const AUTH = "/api/v1/auth/";
const FROM_A_PROXY = [502, 503, 504]; // with no problem of ours in the answer: the server behind it is gone

async function send(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await ask(request);
  if (response.status !== 401 || new URL(request.url).pathname.startsWith(AUTH)) return response;
  return (await signInAgain()) ? ask(again) : response;
}

async function ask(request: Request): Promise<Response> {
  const response = await fetch(request).catch((fault: unknown) => {
    if (request.signal.aborted) throw fault;
    noteUnreached();
    throw unreachable();
  });
  const isOurs = response.headers.get("Content-Type")?.includes("json") ?? true;
  if (FROM_A_PROXY.includes(response.status) && !isOurs) noteUnreached();
  else noteReached();
  return response;
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: send, credentials: "same-origin" });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(tenantHeader())) request.headers.set(name, value);
    noteWritten(request);
    return request;
  },
  onResponse({ response }) {
    learnServerTime(response.headers.get("Date"));
  },
});

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer; raises Problem for every other. */
export async function data<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data: found, error, response } = await asked;
  if (response.ok) return found as T;
  throw toProblem(response, error);
}

/** What is at an address that is not in the API's document; raises Problem for what is refused. */
export async function read<T>(path: string): Promise<T> {
  const response = await send(new Request(path, { credentials: "same-origin", headers: tenantHeader() }));
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as T;
  throw toProblem(response, body);
}

/**
 * With a capital at its start, unless that is a name such as `min_interval`. The command line shares the server's
 * words.
 */
export const sentence = (detail: string): string =>
  /^[a-z]+[ ,:;]/.test(detail) ? detail.charAt(0).toUpperCase() + detail.slice(1) : detail;

export function toProblem(response: Response, body: unknown): Problem {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const text = (name: string) => (typeof said[name] === "string" ? said[name] : "");
  return new Problem(
    response.status,
    text("title") || (response.status >= 500 ? "The server failed" : `Status ${response.status}`),
    sentence(text("detail")) ||
      `The server returned status ${response.status} without a reason. Try again. If the error persists, check the logs of the server and of any proxy in front of it.`,
    Array.isArray(said.errors)
      ? (said.errors as Fault[]).map((fault) => ({ ...fault, detail: sentence(fault.detail) }))
      : [],
    text("request_id"),
    text("type").replace("/problems/", ""),
    said,
  );
}

export function asProblem(fault: unknown): Problem {
  if (fault instanceof Problem) return fault;
  return new Problem(-1, "Something went wrong on this page", fault instanceof Error ? fault.message : String(fault));
}
