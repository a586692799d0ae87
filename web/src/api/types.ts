import type { components } from "./schema";

type Schemas = components["schemas"];
export type Endpoint = Schemas["Endpoint"];
export type Job = Schemas["Job"];
export type Run = Schemas["Run"];
export type RunInFull = Schemas["RunInFull"];
export type Step = Schemas["Step"];
export type Planned = Schemas["Planned"];
export type Phases = Schemas["Phases"];
export type BodyShown = Schemas["BodyShown"];
export type HealthWindow = Schemas["HealthWindow"];
export type EventShown = Schemas["Event"];
export type Upcoming = Schemas["Upcoming"];
export type Worker = Schemas["Worker"];
export type Checked = Schemas["Checked"];
export type EndpointRehearsed = Schemas["EndpointRehearsed"];
export type EndpointNew = Schemas["EndpointNew"];
export type State = Endpoint["status"];
