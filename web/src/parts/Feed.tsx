/** Events as short sentences, newest first. */
import { Text } from "@mantine/core";
import { memo, useDeferredValue } from "react";
import type { EventShown } from "../api/types";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { eventWords } from "../words/event";
import { runTone, type Tone } from "../words/state";
import { endpointPath, executionPath, PlainLink, runPath } from "./PlainLink";

const FIRST = 30; // drawn at once, the rest after it
// Which worker it was, its run says.
const BY_WORKERS = /^(run|schedule|backoff|manual_run\.started|hint\.expired|quota)/;

export function toneOf(event: EventShown): Tone {
  if (event.type === "run.finished") return runTone(String(event.data.status ?? ""));
  if (/timeout|abandoned|parked|faulty|late|failed$/.test(event.type)) return "bad";
  if (/missed|paused|deferred|backoff/.test(event.type)) return "warn";
  if (/hint|manual|rule\.fired/.test(event.type)) return "calm";
  return "idle";
}

/**
 * By when it happened, then by the order in which it was written: a batch is written at once and its runs ended one
 * after the other.
 */
export function newestFirst<Event extends { at: string }>(events: Event[]): Event[] {
  return [...events].reverse().sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

export function Feed({ events: all }: { events: EventShown[] }) {
  const events = useDeferredValue(all, all.slice(0, FIRST));
  if (!events.length)
    return (
      <Text size="sm" c="dimmed">
        No events yet.
      </Text>
    );
  return (
    <ol className="feed">
      {events.map((event) => (
        <Line key={event.cursor} event={event} />
      ))}
    </ol>
  );
}

const Line = memo(function Line({ event }: { event: EventShown }) {
  return (
    <li data-tone={toneOf(event)}>
      <span className="breaks">
        {event.endpoint_id && event.endpoint && (
          <>
            <PlainLink to={endpointPath(event.endpoint_id)}>{event.endpoint}</PlainLink>{" "}
          </>
        )}
        {event.run_id && event.type !== "run.missed" ? (
          <PlainLink to={runPath(event.run_id)} plain>
            {eventWords(event)}
          </PlainLink>
        ) : typeof event.data.execution === "string" ? (
          <PlainLink to={executionPath(event.data.execution)} plain>
            {eventWords(event)}
          </PlainLink>
        ) : (
          eventWords(event)
        )}
        {!BY_WORKERS.test(event.type) && event.actor !== "system" && (
          <span className="small"> by {actorWords(event.actor)}</span>
        )}
      </span>
      <span className="small nowrap">
        <When at={event.at} />
      </span>
    </li>
  );
});
