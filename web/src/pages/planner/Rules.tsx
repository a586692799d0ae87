import { Badge, Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { IconPlus, IconScale } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { plannerActs, plannerQuery, type Rule, rulesQuery } from "../../api/planner";
import { jobsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { AnchorLink } from "../../parts/links";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { DraftForm } from "./DraftForm";
import { RuleForm } from "./RuleForm";

export function Rules() {
  const rules = useInfiniteQuery(rulesQuery());
  const mayWrite = useMay("write");
  const status = useQuery(plannerQuery);
  const [editing, setEditing] = useState<Rule | "new" | "draft" | null>(null);
  const items = rules.data?.pages.flatMap((page) => page.items) ?? [];
  if (rules.error && !rules.data) return <Failed fault={rules.error} retry={() => void rules.refetch()} />;
  if (!rules.data) return <Pending />;
  const add = mayWrite && (
    <Group gap="xs">
      {status.data?.model && (
        <Button variant="default" onClick={() => setEditing("draft")}>
          Draft with model
        </Button>
      )}
      <Button leftSection={<IconPlus size={16} />} onClick={() => setEditing("new")}>
        New rule
      </Button>
    </Group>
  );
  return (
    <Stack>
      {items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            Rules change schedules when a response meets a condition. They work without a model.
          </Text>
          {add}
        </Group>
      )}
      {!items.length ? (
        <Empty
          icon={IconScale}
          title="No rules yet"
          action={add}
          command="mainspring rules add NAME --when 'status_code >= 500' --interval 30s --ttl 10m"
        >
          A rule changes a schedule based on a response: run more often while a queue is long, pause a failing endpoint,
          or resume another one.
        </Empty>
      ) : (
        <Card padding={0}>
          <RuleTable rules={items} edit={setEditing} showOwner />
        </Card>
      )}
      {rules.hasNextPage && (
        <Button
          variant="default"
          mx="auto"
          loading={rules.isFetchingNextPage}
          onClick={() => void rules.fetchNextPage()}
        >
          Show more
        </Button>
      )}
      {editing === "draft" && <DraftForm close={() => setEditing(null)} />}
      {editing && editing !== "draft" && (
        <RuleForm {...(editing === "new" ? {} : { rule: editing })} close={() => setEditing(null)} />
      )}
    </Stack>
  );
}

export function RuleTable({
  rules,
  edit,
  showOwner,
}: {
  rules: Rule[];
  edit: (rule: Rule) => void;
  showOwner?: boolean;
}) {
  const mayWrite = useMay("write");
  const jobs = useQuery(jobsQuery);
  const [ending, setEnding] = useState<Rule | null>(null);
  const remove = useAction((id: string) => plannerActs.removeRule(id), {
    done: "Rule removed; its hints stay until they expire",
    after: () => setEnding(null),
  });
  return (
    <>
      <Table className={showOwner ? "stacks" : "stacks inset"} verticalSpacing={8}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Rule</Table.Th>
            {showOwner && <Table.Th>Scope</Table.Th>}
            <Table.Th>Action</Table.Th>
            <Table.Th>Matches</Table.Th>
            {mayWrite && <Table.Th>Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rules.map((each) => (
            <Table.Tr key={each.id}>
              <Table.Td className="stack-title" maw={420}>
                <div style={{ minWidth: 0 }}>
                  <Text size="sm" fw={600} className="breaks">
                    {String(each.rule.name)}
                  </Text>
                  <Text size="xs" className="mono breaks" fw={400}>
                    {String(each.rule.when)}
                    {Number(each.rule.for ?? 1) > 1 ? `, ${String(each.rule.for)} consecutive runs` : ""}
                  </Text>
                  {each.fault && (
                    <Text size="xs" c="red" className="breaks" fw={400}>
                      {each.fault}
                    </Text>
                  )}
                  {each.refused && (
                    <Text size="xs" c="orange" className="breaks" fw={400}>
                      Refused: {each.refused}
                    </Text>
                  )}
                </div>
              </Table.Td>
              {showOwner && (
                <Table.Td data-label="Scope" className="breaks">
                  {each.endpoint_id ? (
                    <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: each.endpoint_id }} size="sm">
                      {each.endpoint}
                    </AnchorLink>
                  ) : (
                    <Text size="sm">job {jobs.data?.items.find((job) => job.id === each.job_id)?.name ?? ""}</Text>
                  )}
                </Table.Td>
              )}
              <Table.Td data-label="Action">
                <div>
                  <Text size="sm" className="breaks">
                    {each.does}
                  </Text>
                  {each.rule.target ? (
                    <Text size="xs" c="dimmed" className="breaks">
                      of {String(each.rule.target)}
                    </Text>
                  ) : null}
                </div>
              </Table.Td>
              <Table.Td data-label="Matches">
                {each.fault && !each.fired_at ? (
                  <Badge color="red" tt="none">
                    faulty
                  </Badge>
                ) : (
                  <When at={each.fired_at} none="never" />
                )}
              </Table.Td>
              {mayWrite && (
                <Table.Td>
                  <Group gap={6} wrap="nowrap">
                    <Button size="compact-sm" variant="default" onClick={() => edit(each)}>
                      Edit
                    </Button>
                    <Button size="compact-sm" variant="subtle" color="red" onClick={() => setEnding(each)}>
                      Remove
                    </Button>
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Confirm
        opened={!!ending}
        onClose={() => setEnding(null)}
        title={`Remove rule ${String(ending?.rule.name ?? "")}?`}
        verb="Remove"
        danger
        busy={remove.isPending}
        onConfirm={() => ending && remove.mutate(ending.id)}
      >
        The rule no longer runs. Its hints stay until they expire.
      </Confirm>
    </>
  );
}
