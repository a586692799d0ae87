/** Every address of the UI. Filters live in the address, so that a view can be kept, sent and gone back to. */
import type { QueryClient } from "@tanstack/react-query";
import {
  type AnyRoute,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent as lazily,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { onSessionOver, Problem, unreachable } from "./api/client";
import { plannerQuery } from "./api/planner";
import {
  activityQuery,
  callsQuery,
  decisionQuery,
  endpointQuery,
  endpointsQuery,
  eventsQuery,
  healthQuery,
  jobsQuery,
  previewQuery,
  runQuery,
  runsQuery,
  statsQuery,
  upcomingQuery,
  workersQuery,
} from "./api/queries";
import { onReachedAgain } from "./api/reach";
import { forgetVisit, sessionQuery, wasHere } from "./api/session";
import { addressOf, ownAddress, pathOf, tabTenant } from "./api/tenant";
import type { CallFilters, EndpointFilters, EventFilters, ExecutionFilters, RunFilters } from "./api/types";
import { executionQuery, executionsQuery, workflowQuery, workflowsQuery } from "./api/workflows";
import { Broken, Missing, PendingPage } from "./parts/Outcomes";
import { afterPaint } from "./shell/afterPaint";
import { hasEdits } from "./shell/edits";
import { Shell } from "./shell/Shell";
import { askToSignIn } from "./shell/SignInAgain";

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
/**
 * The parameters we know, as text; others are left out. The server checks their values, and the page shows its answer.
 */
const only =
  <Search extends object>(...names: (keyof Search & string)[]) =>
  (search: Record<string, unknown>) =>
    Object.fromEntries(names.flatMap((name) => (text(search[name]) ? [[name, text(search[name])]] : []))) as Search;

/**
 * A page's code when it is asked for. Where it cannot be had the router loads the whole page anew, which is right
 * after an upgrade, but leaves nothing of ours where the server is gone.
 */
const lazyRouteComponent = <Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazily(
    () =>
      load().catch(async (fault: unknown) => {
        await fetch("/healthz").catch(() => {
          throw unreachable();
        });
        throw fault;
      }),
    name,
  );

/** Begins to read what a page will ask for. A failure is not shown here: the page asks again, and shows it. */
type Reads = (client: QueryClient, params: unknown, search: unknown) => void;

/** A page that knows what it will read: it is read beside the page's code, and when a pointer rests on a link to it. */
function reading<Params extends object, Search extends object>(
  begin: (client: QueryClient, params: Params, search: Search) => Promise<void>[],
) {
  const reads: Reads = (client, params, search) => void begin(client, params as Params, search as Search);
  return {
    staticData: { reads },
    loaderDeps: ({ search }: { search: object }) => search,
    loader: (given: unknown): void => {
      // unknown, so that a route's own types are inferred from its path
      const { context, params, deps } = given as { context: { client: QueryClient }; params: Params; deps: Search };
      reads(context.client, params, deps);
    },
  };
}

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet, notFoundComponent: Missing });

/** Who is signed in has nothing to do at the login. */
async function redirectIfSignedIn(client: QueryClient, from: string | undefined): Promise<void> {
  if (!wasHere() || !(await client.ensureQueryData(sessionQuery).catch(() => null))) return;
  throw redirect({ href: ownAddress(from), reloadDocument: true });
}

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: only<{ from?: string }>("from"),
  beforeLoad: (given: unknown) => {
    // unknown for the same reason
    const { context, search } = given as { context: { client: QueryClient }; search: { from?: string } };
    return redirectIfSignedIn(context.client, search.from);
  },
  component: lazyRouteComponent(() => import("./pages/Login"), "Login"),
});
const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("./pages/Setup"), "Setup"),
});

const loginFrom = (address: string) => ({ to: "/login", search: address === "/" ? {} : { from: address } }) as const;

/** The address of another tenant, reached without loading it: load it, so that nothing of this tenant stays. */
const elsewhere = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/$",
  beforeLoad: ({ location }) => {
    throw redirect({ href: location.publicHref, reloadDocument: true });
  },
});

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  beforeLoad: async ({ context, location, cause }) => {
    if (cause === "stay") await afterPaint(); // from one page to the next: where one goes is marked at once
    try {
      await context.client.ensureQueryData(sessionQuery);
    } catch (fault) {
      if (fault instanceof Problem && fault.status === 401) {
        throw redirect(loginFrom(location.publicHref));
      }
      throw fault;
    }
  },
});

const page = <Path extends string>(path: Path) => ({ getParentRoute: () => inside, path }) as const;

const overview = createRoute({
  ...page("/"),
  ...reading((client) => [
    client.prefetchQuery(statsQuery),
    client.prefetchQuery(activityQuery(24)),
    client.prefetchQuery(upcomingQuery(60)),
    client.prefetchQuery(eventsQuery({}, 60)),
    client.prefetchQuery(workersQuery),
    client.prefetchQuery(plannerQuery),
  ]),
  component: lazyRouteComponent(() => import("./pages/Overview"), "Overview"),
});
const endpoints = createRoute({
  ...page("/endpoints"),
  ...reading<object, EndpointFilters>((client, _, filters) => [
    client.prefetchInfiniteQuery(endpointsQuery(filters)),
    client.prefetchQuery(jobsQuery),
  ]),
  validateSearch: only<EndpointFilters>("text", "state", "job", "sort"),
  component: lazyRouteComponent(() => import("./pages/Endpoints"), "Endpoints"),
});
const endpointNew = createRoute({
  ...page("/endpoints/new"),
  validateSearch: only<{ copy?: string }>("copy"),
  component: lazyRouteComponent(() => import("./pages/EndpointEdit"), "EndpointCreate"),
});
const endpoint = createRoute({
  ...page("/endpoints/$endpoint"),
  ...reading<{ endpoint: string }, object>((client, { endpoint }) => [
    client.prefetchQuery(endpointQuery(endpoint)),
    client.prefetchQuery(decisionQuery(endpoint)),
    client.prefetchInfiniteQuery(runsQuery({ endpoint }, 60)),
    client.prefetchQuery(previewQuery(endpoint)),
    client.prefetchQuery(healthQuery(endpoint)),
    client.prefetchQuery(plannerQuery),
  ]),
  validateSearch: only<{ tab?: string }>("tab"),
  component: lazyRouteComponent(() => import("./pages/EndpointDetail"), "EndpointDetail"),
});
const endpointEdit = createRoute({
  ...page("/endpoints/$endpoint/edit"),
  ...reading<{ endpoint: string }, object>((client, { endpoint }) => [
    client.prefetchQuery(endpointQuery(endpoint)),
    client.prefetchQuery(jobsQuery),
  ]),
  component: lazyRouteComponent(() => import("./pages/EndpointEdit"), "EndpointEdit"),
});
const calls = createRoute({
  ...page("/calls"),
  ...reading<object, CallFilters>((client, _, filters) => [client.prefetchInfiniteQuery(callsQuery(filters))]),
  validateSearch: only<CallFilters>("state"),
  component: lazyRouteComponent(() => import("./pages/Calls"), "Calls"),
});
const jobs = createRoute({
  ...page("/jobs"),
  ...reading((client) => [client.prefetchQuery(jobsQuery)]),
  component: lazyRouteComponent(() => import("./pages/Jobs"), "Jobs"),
});
const runs = createRoute({
  ...page("/runs"),
  ...reading<object, RunFilters>((client, _, filters) => [client.prefetchInfiniteQuery(runsQuery(filters))]),
  validateSearch: only<RunFilters>("endpoint", "status", "trigger", "since", "until", "sort"),
  component: lazyRouteComponent(() => import("./pages/Runs"), "Runs"),
});
const run = createRoute({
  ...page("/runs/$run"),
  ...reading<{ run: string }, object>((client, { run }) => [client.prefetchQuery(runQuery(run))]),
  component: lazyRouteComponent(() => import("./pages/RunDetail"), "RunDetail"),
});
const events = createRoute({
  ...page("/events"),
  ...reading<object, EventFilters>((client, _, filters) => [client.prefetchQuery(eventsQuery(filters, 200))]),
  validateSearch: only<EventFilters>("type", "endpoint"),
  component: lazyRouteComponent(() => import("./pages/Events"), "Events"),
});
const workflows = createRoute({
  ...page("/workflows"),
  ...reading((client) => [client.prefetchQuery(workflowsQuery)]),
  component: lazyRouteComponent(() => import("./pages/Workflows"), "Workflows"),
});
const workflow = createRoute({
  ...page("/workflows/$workflow"),
  ...reading<{ workflow: string }, object>((client, { workflow }) => [client.prefetchQuery(workflowQuery(workflow))]),
  validateSearch: only<{ tab?: string }>("tab"),
  component: lazyRouteComponent(() => import("./pages/WorkflowDetail"), "WorkflowDetail"),
});
const executions = createRoute({
  ...page("/executions"),
  ...reading<object, ExecutionFilters>((client, _, filters) => [
    client.prefetchInfiniteQuery(executionsQuery(filters)),
    client.prefetchQuery(workflowsQuery),
  ]),
  validateSearch: only<ExecutionFilters>("workflow", "status", "correlation", "step", "sort"),
  component: lazyRouteComponent(() => import("./pages/Executions"), "Executions"),
});
const execution = createRoute({
  ...page("/executions/$execution"),
  ...reading<{ execution: string }, object>((client, { execution }) => [
    client.prefetchQuery(executionQuery(execution)),
  ]),
  validateSearch: only<{ tab?: string; version?: string }>("tab", "version"),
  component: lazyRouteComponent(() => import("./pages/ExecutionDetail"), "ExecutionDetail"),
});
const planner = createRoute({
  ...page("/planner"),
  ...reading((client) => [client.prefetchQuery(plannerQuery)]),
  validateSearch: only<{ tab?: string; endpoint?: string }>("tab", "endpoint"),
  component: lazyRouteComponent(() => import("./pages/Planner"), "Planner"),
});
const session = createRoute({
  ...page("/planner/sessions/$session"),
  component: lazyRouteComponent(() => import("./pages/SessionDetail"), "SessionDetail"),
});
const simulation = createRoute({
  ...page("/simulation"),
  validateSearch: only<{ scenario?: string; seed?: string }>("scenario", "seed"),
  component: lazyRouteComponent(() => import("./pages/Simulation"), "Simulation"),
});
const demo = createRoute({ ...page("/demo"), component: lazyRouteComponent(() => import("./pages/Demo"), "Demo") });
const settings = createRoute({
  ...page("/settings"),
  validateSearch: only<{ tab?: string }>("tab"),
  component: lazyRouteComponent(() => import("./pages/Settings"), "Settings"),
});

const tree = root.addChildren([
  login,
  setup,
  elsewhere,
  inside.addChildren([
    overview,
    endpoints,
    endpointNew,
    endpoint,
    endpointEdit,
    calls,
    jobs,
    runs,
    run,
    events,
    workflows,
    workflow,
    executions,
    execution,
    planner,
    session,
    simulation,
    demo,
    settings,
  ]),
]);

export function makeRouter(client: QueryClient) {
  const router = createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0, // what was read is kept by the queries, which know how old it may be
    defaultPendingMs: 200,
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: Broken,
    defaultNotFoundComponent: Missing,
    scrollRestoration: true,
    // Pages know no tenant in their paths: the address has it, and the tab.
    rewrite: {
      input: ({ url }) => {
        url.pathname = pathOf(url.pathname);
        return url;
      },
      output: ({ url }) => {
        url.pathname = addressOf(url.pathname);
        return url;
      },
    },
  });
  // A session that ended elsewhere: sign in over the page where a form has unsaved changes; else to the login, and from
  // there back to where one was. The first answer that says so may be to what a page reads before it is drawn, so it is
  // the router that listens.
  onSessionOver(async () => {
    const { pathname, publicHref } = router.latestLocation;
    if (pathname === login.fullPath) return false;
    if (hasEdits() && (await askToSignIn())) return true;
    if (router.latestLocation.pathname === login.fullPath) return false; // another request has led there
    client.clear();
    forgetVisit();
    void router.navigate({ ...loginFrom(publicHref), ignoreBlocker: true });
    return false;
  });
  // An address without a tenant gets the one that the person is in, so that a copy of it leads there.
  router.subscribe("onResolved", () => {
    const { publicHref, state } = router.latestLocation;
    const named = addressOf(pathOf(publicHref));
    if (named !== publicHref) router.history.replace(named, state, { ignoreBlocker: true });
  });
  onReachedAgain(() => {
    void client.invalidateQueries();
    if (router.state.matches.some((match) => match.status === "error")) void router.invalidate();
  });
  return router;
}

/** Ask for the session, the page's code and what it reads at once: one after the other is three times the wait. */
export function prefetch(router: ReturnType<typeof makeRouter>): void {
  const { client } = router.options.context;
  for (const match of router.matchRoutes(router.latestLocation)) {
    const route = router.routesById[match.routeId as keyof typeof router.routesById] as AnyRoute;
    void router.loadRouteChunk(route)?.catch(() => {}); // asked for again, and told, when it is shown
    if (match.routeId === inside.id) void client.prefetchQuery(sessionQuery);
    if (wasHere() && tabTenant()) route.options.staticData?.reads?.(client, match.params, match.search);
  }
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
  interface StaticDataRouteOption {
    reads?: Reads;
  }
}
