import { Badge, Tooltip } from "@mantine/core";
import { useLiveState } from "../api/live";
import type { LiveState } from "../api/stream";

const SAID: Record<LiveState, [string, string, string]> = {
  live: ["green", "live", "What happens appears here within a second."],
  connecting: ["gray", "connecting", "Opening the stream of events."],
  stale: ["orange", "stale", "The stream of events is cut. What you see may be old; it is tried again by itself."],
  paused: ["gray", "paused", "The page was hidden, so it stopped listening."],
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
