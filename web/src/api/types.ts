import type { components } from "./schema";

type Schemas = components["schemas"];
export type Endpoint = Schemas["EndpointView"];
export type Job = Schemas["JobView"];
export type Run = Schemas["RunView"];
export type RunInFull = Schemas["RunDetailView"];
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
export type State = Endpoint["status"];
