import { Badge, Tooltip } from "@mantine/core";
import { useLiveState } from "../api/live";
import type { LiveState } from "../api/stream";

const SAID: Record<LiveState, [string, string, string]> = {
  live: ["green", "live", "Updates appear within a second."],
  connecting: ["gray", "connecting", "Connecting to the event stream."],
  stale: ["orange", "stale", "Disconnected. Data may be out of date; reconnecting…"],
  paused: ["gray", "paused", "Updates are paused while the page is hidden."],
};

export function LiveBadge() {
  const state = useLiveState();
  const [color, word, meaning] = SAID[state];
  return (
    <Tooltip label={meaning}>
      <Badge variant="dot" color={color} tt="none" role="status" aria-label={`Events: ${word}`}>
        {word}
      </Badge>
    </Tooltip>
  );
}
