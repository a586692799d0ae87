import { Text } from "@mantine/core";
import { When } from "../time/When";
import { Mark } from "./Status";

type Seen = { enabled: boolean; disabled_reason: string | null; failing_since: string | null; failure_count: number };

/** Whether messages go out, and how that has been going. */
export function SubscriptionState({ of }: { of: Seen }) {
  const [tone, word] = !of.enabled
    ? (["idle", "off"] as const)
    : of.failing_since
      ? (["bad", "failing"] as const)
      : (["good", "on"] as const);
  return (
    <div>
      <Mark tone={tone} word={word} />
      {!of.enabled && of.disabled_reason && (
        <Text size="xs" c="dimmed" className="breaks" maw={260}>
          {of.disabled_reason}
        </Text>
      )}
      {of.enabled && of.failing_since && (
        <Text size="xs" c="dimmed">
          {of.failure_count === 1 ? "1 attempt" : `${of.failure_count} attempts`} failed, the first{" "}
          <When at={of.failing_since} mode="relative" />
        </Text>
      )}
    </div>
  );
}
