/** Upcoming runs: the near future as a line with a mark for each, and the soonest in words. */
import { Group, Stack, Text } from "@mantine/core";
import type { Upcoming } from "../api/types";
import { useNow } from "../time/clock";
import { When } from "../time/When";
import { span } from "../words/duration";
import { sourceWords } from "../words/state";
import { endpointPath, PlainLink } from "./PlainLink";

const LISTED = 8;

export function Timeline({ items }: { items: Upcoming[] }) {
  const nowMs = useNow();
  if (!items.length)
    return (
      <Text size="sm" c="dimmed">
        No upcoming runs: all endpoints are paused or running.
      </Text>
    );
  const last = Date.parse(items.at(-1)?.at ?? "");
  const reach = Math.min(Math.max(60_000, last - nowMs), 3_600_000);
  const share = (at: string) => Math.min(1, Math.max(0, (Date.parse(at) - nowMs) / reach));
  const near = items.filter((item) => Date.parse(item.at) - nowMs <= reach);
  return (
    <Stack gap="sm">
      <div>
        <svg
          width="100%"
          height={30}
          role="img"
          aria-label={`${near.length} runs in the next ${span(reach)}`}
          style={{ display: "block", overflow: "visible" }}
        >
          <line x1="0" x2="100%" y1="16" y2="16" stroke="var(--grid)" strokeWidth={2} />
          {near.map((item) => (
            <circle
              key={item.endpoint_id}
              cx={`${share(item.at) * 100}%`}
              cy="16"
              r="5"
              fill={item.source.startsWith("baseline") ? "var(--calm)" : "var(--warn)"}
              fillOpacity={0.75}
            >
              <title>{`${item.endpoint}, by the ${sourceWords(item.source)}`}</title>
            </circle>
          ))}
        </svg>
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            now
          </Text>
          <Text size="xs" c="dimmed">
            in {span(reach)}
          </Text>
        </Group>
      </div>
      <ol className="lines">
        {items.slice(0, LISTED).map((item) => (
          <li key={item.endpoint_id}>
            <PlainLink to={endpointPath(item.endpoint_id)} className="clip" title={item.endpoint}>
              {item.endpoint}
            </PlainLink>
            <span className="small wide-only nowrap">{sourceWords(item.source)}</span>
            <span className="instant">
              <When at={item.at} />
            </span>
          </li>
        ))}
      </ol>
    </Stack>
  );
}
