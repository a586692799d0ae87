/** Events as short sentences, newest first. */
import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { EventShown } from "../api/types";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { eventWords } from "../words/event";
import { INK, runTone, type Tone } from "../words/state";

const BY_WORKERS = /^(run|schedule|backoff|manual_run\.started|hint\.expired|quota)/; // which worker it was, its run says

export function toneOf(event: EventShown): Tone {
  if (event.type === "run.finished") return runTone(String(event.data.status ?? ""));
  if (/timeout|abandoned|parked|faulty|late|failed$/.test(event.type)) return "bad";
  if (/missed|paused|deferred|backoff/.test(event.type)) return "warn";
  if (/hint|manual|rule\.fired/.test(event.type)) return "calm";
  return "idle";
}

export function Feed({ events }: { events: EventShown[] }) {
  if (!events.length) return <Text size="sm" c="dimmed">Nothing has happened yet.</Text>;
  return (
    <Stack gap={6}>
      {events.map((event) => (
        <Group key={event.cursor} gap="xs" wrap="nowrap" align="flex-start">
          <span style={{ width: 8, height: 8, borderRadius: 4, background: INK[toneOf(event)], marginTop: 7, flexShrink: 0 }} />
          <Text size="sm" className="breaks" style={{ flex: 1, minWidth: 0 }}>
            {event.endpoint_id && event.endpoint && (
              <><Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: event.endpoint_id } as never} size="sm" underline="always">{event.endpoint}</Anchor>{" "}</>
            )}
            {event.run_id && event.type !== "run.missed" ? (
              <Anchor component={Link} to="/runs/$run" params={{ run: event.run_id } as never} size="sm" c="inherit" underline="always">{eventWords(event)}</Anchor>
            ) : typeof event.data.execution === "string" ? (
              <Anchor component={Link} to="/executions/$execution" params={{ execution: event.data.execution } as never} size="sm" c="inherit" underline="always">{eventWords(event)}</Anchor>
            ) : eventWords(event)}
            {!BY_WORKERS.test(event.type) && event.actor !== "system" && <Text span size="xs" c="dimmed"> by {actorWords(event.actor)}</Text>}
          </Text>
          <Text size="xs" c="dimmed" component="span" className="nowrap"><When at={event.at} /></Text>
        </Group>
      ))}
    </Stack>
  );
}
