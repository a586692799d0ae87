/** What holds for every page: the server does not answer, or the planner is off. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { IconBulbOff, IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { plannerActs, plannerQuery } from "../api/planner";
import { useIsReached } from "../api/reach";
import { useMay, useTenantName } from "../api/session";
import { useAction } from "../parts/useAction";

export function ServerBanner() {
  if (useIsReached()) return null;
  return (
    <Alert color="red" radius={0} py="xs" icon={<IconPlugConnectedX />} role="status" aria-label="Server">
      <Text size="sm">The server is not responding. Data may be out of date. Reconnecting…</Text>
    </Alert>
  );
}

export function PlannerBanner() {
  const mayWrite = useMay("write");
  const tenant = useTenantName();
  const { data: status } = useQuery(plannerQuery);
  const turnOn = useAction(() => plannerActs.setMode("live"), { done: "The planner is on" });
  const isOff = status?.modes.tenant === "off";
  const isOffForAll = status?.modes.all === "off";
  if (!isOff && !isOffForAll) return null;
  const where = isOffForAll ? "for the whole installation" : tenant ? `for ${tenant}` : "";
  return (
    <Alert color="orange" radius={0} py="xs" icon={<IconBulbOff />} role="note" aria-label="Planner is off">
      <Group gap="sm">
        <Text size="sm">
          {["The planner is off", where].filter(Boolean).join(" ")}. Rules are not evaluated and the model is not
          called.
          {isOffForAll && " An operator can turn it on: mainspring planner mode all live"}
        </Text>
        {mayWrite && isOff && !isOffForAll && (
          <Button
            size="compact-sm"
            variant="default"
            loading={turnOn.isPending}
            onClick={() => turnOn.mutate(undefined)}
          >
            Turn on
          </Button>
        )}
      </Group>
    </Alert>
  );
}
