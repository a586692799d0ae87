/** Every address of the UI. Filters live in the address, so that a view can be kept, sent and gone back to. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent as lazily, Outlet, redirect,
} from "@tanstack/react-router";
import { Problem, unreachable } from "./api/client";
import { sessionQuery } from "./api/session";
import { Broken, Missing, Pending } from "./parts/Outcomes";
import { Shell } from "./shell/Shell";

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
/** Only the parameters we know, as text; an address somebody made up shows the page without them. */
const only = <Name extends string>(...names: Name[]) => (search: Record<string, unknown>) =>
  Object.fromEntries(names.flatMap((name) => (text(search[name]) ? [[name, String(search[name])]] : []))) as Partial<Record<Name, string>>;

/** A page's code when it is asked for. Where it cannot be had the router loads the whole page anew, which is right after an upgrade, but leaves nothing of ours where the server is gone. */
const lazyRouteComponent = <Module extends Record<string, unknown>, Name extends keyof Module>(load: () => Promise<Module>, name: Name) =>
  lazily(
    () => load().catch(async (fault: unknown) => {
      await fetch("/healthz").catch(() => { throw unreachable(); });
      throw fault;
    }),
    name,
  );

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet, notFoundComponent: Missing });

const login = createRoute({
  getParentRoute: () => root, path: "/login", validateSearch: only("from"),
  component: lazyRouteComponent(() => import("./pages/Login"), "Login"),
});
const setup = createRoute({
  getParentRoute: () => root, path: "/setup", component: lazyRouteComponent(() => import("./pages/Setup"), "Setup"),
});

const inside = createRoute({
  getParentRoute: () => root, id: "inside", component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.ensureQueryData(sessionQuery);
    } catch (fault) {
      if (fault instanceof Problem && fault.status === 401) {
        throw redirect({ to: "/login", search: location.href === "/" ? {} : { from: location.href } });
      }
      throw fault;
    }
  },
});

const page = <Path extends string>(path: Path) => ({ getParentRoute: () => inside, path }) as const;

const overview = createRoute({ ...page("/"), component: lazyRouteComponent(() => import("./pages/Overview"), "Overview") });
const endpoints = createRoute({
  ...page("/endpoints"), validateSearch: only("text", "state", "job"),
  component: lazyRouteComponent(() => import("./pages/Endpoints"), "Endpoints"),
});
const endpointNew = createRoute({
  ...page("/endpoints/new"), validateSearch: only("copy"),
  component: lazyRouteComponent(() => import("./pages/EndpointEdit"), "EndpointCreate"),
});
const endpoint = createRoute({
  ...page("/endpoints/$endpoint"), validateSearch: only("tab"),
  component: lazyRouteComponent(() => import("./pages/EndpointDetail"), "EndpointDetail"),
});
const endpointEdit = createRoute({
  ...page("/endpoints/$endpoint/edit"), component: lazyRouteComponent(() => import("./pages/EndpointEdit"), "EndpointEdit"),
});
const jobs = createRoute({ ...page("/jobs"), component: lazyRouteComponent(() => import("./pages/Jobs"), "Jobs") });
const runs = createRoute({
  ...page("/runs"), validateSearch: only("endpoint", "status", "trigger", "since", "until"),
  component: lazyRouteComponent(() => import("./pages/Runs"), "Runs"),
});
const run = createRoute({ ...page("/runs/$run"), component: lazyRouteComponent(() => import("./pages/RunDetail"), "RunDetail") });
const events = createRoute({
  ...page("/events"), validateSearch: only("type", "endpoint"),
  component: lazyRouteComponent(() => import("./pages/Events"), "Events"),
});
const workflows = createRoute({ ...page("/workflows"), component: lazyRouteComponent(() => import("./pages/Workflows"), "Workflows") });
const workflow = createRoute({
  ...page("/workflows/$workflow"), validateSearch: only("tab"),
  component: lazyRouteComponent(() => import("./pages/WorkflowDetail"), "WorkflowDetail"),
});
const executions = createRoute({
  ...page("/executions"), validateSearch: only("workflow", "status", "correlation", "step"),
  component: lazyRouteComponent(() => import("./pages/Executions"), "Executions"),
});
const execution = createRoute({
  ...page("/executions/$execution"), validateSearch: only("tab"),
  component: lazyRouteComponent(() => import("./pages/ExecutionDetail"), "ExecutionDetail"),
});
const planner = createRoute({
  ...page("/planner"), validateSearch: only("tab", "endpoint"),
  component: lazyRouteComponent(() => import("./pages/Planner"), "Planner"),
});
const session = createRoute({
  ...page("/planner/sessions/$session"), component: lazyRouteComponent(() => import("./pages/SessionDetail"), "SessionDetail"),
});
const simulation = createRoute({
  ...page("/simulation"), validateSearch: only("scenario", "seed"),
  component: lazyRouteComponent(() => import("./pages/Simulation"), "Simulation"),
});
const demo = createRoute({ ...page("/demo"), component: lazyRouteComponent(() => import("./pages/Demo"), "Demo") });
const settings = createRoute({
  ...page("/settings"), validateSearch: only("tab"),
  component: lazyRouteComponent(() => import("./pages/Settings"), "Settings"),
});

const tree = root.addChildren([
  login, setup,
  inside.addChildren([overview, endpoints, endpointNew, endpoint, endpointEdit, jobs, runs, run, events, workflows, workflow, executions, execution, planner, session, simulation, demo, settings]),
]);

export function makeRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: "intent",
    defaultPendingMs: 200,
    defaultPendingComponent: Pending,
    defaultErrorComponent: Broken,
    defaultNotFoundComponent: Missing,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
