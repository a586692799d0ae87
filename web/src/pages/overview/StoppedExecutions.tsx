/** Executions that stopped at a failed step, and go on only when a person says how. Not there while none did. */
import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { executionsQuery } from "../../api/workflows";
import { AnchorLink } from "../../parts/links";
import { When } from "../../time/When";
import { standing } from "../workflow/ExecutionTable";

const LISTED = 4;

export function StoppedExecutions() {
  // An event tells of each.
  const stopped = useInfiniteQuery({ ...executionsQuery({ status: "attention" }, LISTED), refetchInterval: false });
  const shown = stopped.data?.pages[0]?.items ?? [];
  if (!shown.length) return null;
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Title order={2}>Executions that need attention</Title>
        <AnchorLink to="/executions" search={{ status: "attention" }} size="sm">
          View all
        </AnchorLink>
      </Group>
      <Stack gap="sm">
        {shown.map((each) => (
          <div key={each.id}>
            <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
              <AnchorLink
                to="/executions/$execution"
                params={{ execution: each.id }}
                size="sm"
                fw={600}
                className="breaks"
              >
                {each.correlation || each.id}
              </AnchorLink>
              <Text size="xs" c="dimmed" className="nowrap" component="span">
                {each.workflow}, <When at={each.moved_at} />
              </Text>
            </Group>
            <Text size="sm" className="breaks" lineClamp={2}>
              {standing(each)}
            </Text>
          </div>
        ))}
      </Stack>
    </Card>
  );
}
