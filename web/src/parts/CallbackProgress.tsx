/** How far a run is that its target accepted, and until when its callback must arrive. */
import { Alert, Progress, Text } from "@mantine/core";
import { IconHourglass } from "@tabler/icons-react";
import type { CallbackShown } from "../api/types";
import { When } from "../time/When";

export function CallbackProgress({ callback }: { callback: CallbackShown }) {
  const { percent, text } = callback;
  return (
    <Alert color="cyan" role="note" icon={<IconHourglass />} title="Waiting for the callback">
      <Text size="sm">
        The target accepted the call <When at={callback.since_at} />. Without a report, the run times out{" "}
        <When at={callback.until_at} />.
      </Text>
      {percent !== null && (
        <>
          <Progress value={percent} mt="xs" aria-label="Progress" />
          <Text size="sm" mt={4}>
            {percent} %
          </Text>
        </>
      )}
      {text && (
        <Text size="sm" className="breaks">
          {text}
        </Text>
      )}
      {callback.reported_at && (
        <Text size="xs" c="dimmed">
          Last report <When at={callback.reported_at} />
        </Text>
      )}
    </Alert>
  );
}
