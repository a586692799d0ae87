import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Endpoint = Schemas["EndpointView"];
export type Call = Schemas["CallView"];
export type CallNew = Schemas["CallNew"];
export type CallFilters = { state?: "waiting" | "done" | "cancelled" };
export type Job = Schemas["JobView"];
export type Run = Schemas["RunView"];
export type RunInFull = Schemas["RunDetailView"];
export type CallbackShown = Schemas["CallbackView"];
export type Step = Schemas["DecisionStepView"];
export type Planned = Schemas["PlannedRunView"];
export type Phases = Schemas["PhasesView"];
export type BodyShown = Schemas["BodyView"];
export type HealthWindow = Schemas["HealthWindow"];
export type EventShown = Schemas["EventView"];
export type Upcoming = Schemas["Upcoming"];
export type Worker = Schemas["WorkerView"];
export type Checked = Schemas["EndpointChecked"];
export type EndpointRehearsed = Schemas["EndpointDryRun"];
export type EndpointNew = Schemas["EndpointNew"];
export type Kind = Schemas["KindView"];
export type KindField = Schemas["KindFieldView"];
export type State = Endpoint["status"];

type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Found } } }
  ? NonNullable<Found>
  : never;
/** Some filters of a list, with the values that the API takes. */
export type Filters<Path extends keyof paths, Name extends keyof Query<Path>> = {
  [Each in Name]?: NonNullable<Query<Path>[Each]>;
};
export type EndpointFilters = Filters<"/api/v1/endpoints", "text" | "state" | "job" | "sort">;
export type RunFilters = Filters<"/api/v1/runs", "endpoint" | "status" | "trigger" | "since" | "until" | "sort">;
export type EventFilters = Filters<"/api/v1/events", "type" | "endpoint">;
type ExecutionQuery = Filters<"/api/v1/executions", "workflow" | "status" | "correlation" | "step" | "sort">;
/** `attention` is a list of its own: executions that wait for a person. */
export type ExecutionFilters = Omit<ExecutionQuery, "status"> & { status?: ExecutionQuery["status"] | "attention" };
