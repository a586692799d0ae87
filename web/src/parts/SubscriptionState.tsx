import { Badge, Text } from "@mantine/core";
import { When } from "../time/When";

type Seen = { enabled: boolean; disabled_reason: string | null; failing_since: string | null; failure_count: number };

/** Whether messages go out, and how that has been going. */
export function SubscriptionState({ of }: { of: Seen }) {
  const [color, word] = !of.enabled ? ["gray", "off"] : of.failing_since ? ["red", "failing"] : ["green", "on"];
  return (
    <div>
      <Badge color={color} tt="none">{word}</Badge>
      {!of.enabled && of.disabled_reason && <Text size="xs" c="dimmed" className="breaks" maw={260}>{of.disabled_reason}</Text>}
      {of.enabled && of.failing_since && <Text size="xs" c="dimmed">{of.failure_count === 1 ? "1 attempt" : `${of.failure_count} attempts`} failed, the first <When at={of.failing_since} mode="relative" /></Text>}
    </div>
  );
}
