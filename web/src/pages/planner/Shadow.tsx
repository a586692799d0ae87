/** What rules and the model would have done, where they only watch. */
import { Card, Stack, Table, Text, Title } from "@mantine/core";
import { IconGhost2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { shadowQuery } from "../../api/planner";
import { AnchorLink } from "../../parts/links";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { When } from "../../time/When";
import { SessionTable } from "./Sessions";

export function Shadow() {
  const shadow = useQuery(shadowQuery);
  if (shadow.error && !shadow.data) return <Failed fault={shadow.error} retry={() => void shadow.refetch()} />;
  if (!shadow.data) return <Pending />;
  const { firings, sessions } = shadow.data;
  if (!firings.length && !sessions.length) {
    return (
      <Empty icon={IconGhost2} title="No shadow results" command="mainspring planner mode shadow">
        Set the planner, or one endpoint, to Shadow mode. Its decisions are then recorded here without being applied.
      </Empty>
    );
  }
  return (
    <Stack>
      {firings.length > 0 && (
        <Card padding={0}>
          <Title order={2} p="md" pb="xs">
            Rule matches
          </Title>
          <Table className="stacks inset" verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Endpoint</Table.Th>
                <Table.Th>Rule</Table.Th>
                <Table.Th>Action</Table.Th>
                <Table.Th>Reason</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {firings.map((each, place) => (
                <Table.Tr key={place}>
                  <Table.Td className="stack-title nowrap">
                    {each.run_id ? (
                      <AnchorLink to="/runs/$run" params={{ run: each.run_id }} size="sm">
                        <When at={each.at} />
                      </AnchorLink>
                    ) : (
                      <When at={each.at} />
                    )}
                  </Table.Td>
                  <Table.Td data-label="Endpoint" className="breaks">
                    <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: each.endpoint_id }} size="sm">
                      {each.endpoint ?? each.endpoint_id}
                    </AnchorLink>
                  </Table.Td>
                  <Table.Td data-label="Rule" className="breaks">
                    {each.rule}
                  </Table.Td>
                  <Table.Td data-label="Action" className="breaks">
                    {each.does}
                  </Table.Td>
                  <Table.Td data-label="Reason" maw={360}>
                    <Text size="sm" className="breaks" lineClamp={2}>
                      {each.reason}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {sessions.length > 0 && (
        <Card padding={0}>
          <Title order={2} p="md" pb="xs">
            Model sessions
          </Title>
          <SessionTable sessions={sessions} />
        </Card>
      )}
    </Stack>
  );
}
