/** Every workflow, its newest version, and the way to publish another. */
import { Badge, Button, Card, Group, SegmentedControl, Table, Text } from "@mantine/core";
import { IconHierarchy2, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMay } from "../api/session";
import { archivedWorkflowsQuery, workflowsQuery } from "../api/workflows";
import { AnchorLink, ButtonLink } from "../parts/links";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { exampleBeside, PublishForm } from "./workflow/PublishForm";

export function Workflows() {
  const [isArchived, setArchived] = useState(false);
  const archived = useQuery(archivedWorkflowsQuery);
  const workflows = useQuery(isArchived ? archivedWorkflowsQuery : workflowsQuery);
  const mayWrite = useMay("write");
  const [publishing, setPublishing] = useState(false);
  const items = workflows.data?.items ?? [];
  const current = useQuery(workflowsQuery);
  const taken =
    current.data && archived.data && [...current.data.items, ...archived.data.items].map((each) => each.name);
  const publish = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} disabled={!taken} onClick={() => setPublishing(true)}>
      Publish workflow
    </Button>
  );
  return (
    <Page
      title="Workflows"
      about="Multi-step processes that can wait for days, branch, and survive restarts."
      actions={
        <Group gap="xs">
          <ButtonLink to="/executions" variant="default">
            Executions
          </ButtonLink>
          {items.length > 0 && publish}
        </Group>
      }
    >
      {(isArchived || (archived.data?.items.length ?? 0) > 0) && (
        <SegmentedControl
          size="xs"
          w="fit-content"
          value={isArchived ? "archived" : "current"}
          onChange={(value) => setArchived(value === "archived")}
          aria-label="Workflow filter"
          data={[
            { value: "current", label: "Current" },
            { value: "archived", label: `Archived (${archived.data?.items.length ?? 0})` },
          ]}
        />
      )}
      {workflows.error && !workflows.data ? (
        <Failed fault={workflows.error} retry={() => void workflows.refetch()} />
      ) : null}
      {workflows.isPending ? <Pending /> : null}
      {isArchived && workflows.data && !items.length && (
        <Text size="sm" c="dimmed">
          No archived workflows.
        </Text>
      )}
      {!isArchived && workflows.data && !items.length && (
        <Empty
          icon={IconHierarchy2}
          title="No workflows yet"
          command="mainspring workflow publish order.yaml"
          action={publish}
        >
          A workflow is a document with steps that call, wait, ask and decide.
        </Empty>
      )}
      {items.length > 0 && (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Workflow</Table.Th>
                <Table.Th>Version</Table.Th>
                <Table.Th>Steps</Table.Th>
                <Table.Th>Published</Table.Th>
                <Table.Th>By</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((each) => (
                <Table.Tr key={each.name}>
                  <Table.Td className="stack-title">
                    <div>
                      <AnchorLink
                        to="/workflows/$workflow"
                        params={{ workflow: each.name }}
                        fw={600}
                        size="sm"
                        className="breaks"
                      >
                        {each.name}
                      </AnchorLink>
                      {each.description && (
                        <Text size="xs" c="dimmed" className="breaks">
                          {each.description}
                        </Text>
                      )}
                    </div>
                  </Table.Td>
                  <Table.Td data-label="Version">
                    <Badge tt="none" color="gray">
                      v{each.version}
                    </Badge>
                  </Table.Td>
                  <Table.Td data-label="Steps">{each.step_count}</Table.Td>
                  <Table.Td data-label="Published">
                    <When at={each.created_at} />
                  </Table.Td>
                  <Table.Td data-label="By">{actorWords(each.actor)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {publishing && taken && <PublishForm document={exampleBeside(taken)} close={() => setPublishing(false)} />}
    </Page>
  );
}
