/** One workflow: its graph with who is where, its executions, its versions and what changed between them. */
import {
  Alert,
  Badge,
  Button,
  Card,
  Code,
  Grid,
  Group,
  List,
  Menu,
  Select,
  Stack,
  Tabs,
  Text,
  Title,
} from "@mantine/core";
import { IconChevronDown, IconPlayerPlay, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/session";
import { diffQuery, executionsQuery, flowActs, graphQuery, versionsQuery, workflowQuery } from "../api/workflows";
import { Confirm } from "../parts/Confirm";
import { ButtonLink } from "../parts/links";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { TabRow, tabOf } from "../parts/TabRow";
import { useAction } from "../parts/useAction";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { ExecutionTable, ending, isOver } from "./workflow/ExecutionTable";
import { FlowGraph } from "./workflow/FlowGraph";
import { PublishForm } from "./workflow/PublishForm";
import { ReplayMany } from "./workflow/ReplayMany";
import { StartForm } from "./workflow/StartForm";
import { WorkflowTrial } from "./workflow/WorkflowTrial";

const RECENT = 100;
const TABS: [string, string][] = [
  ["graph", "Graph"],
  ["try", "Trial run"],
  ["executions", "Executions"],
  ["versions", "Versions"],
  ["document", "Document"],
];

export function WorkflowDetail() {
  const { workflow: name } = useParams({ from: "/inside/workflows/$workflow" });
  const tab = tabOf(TABS, useSearch({ from: "/inside/workflows/$workflow" }).tab);
  const navigate = useNavigate();
  const found = useQuery(workflowQuery(name));
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const [open, setOpen] = useState<"start" | "publish" | "archive" | null>(null);
  const archive = useAction(() => flowActs.archive(name), { done: `${name} is archived`, after: () => setOpen(null) });
  const restore = useAction(() => flowActs.restore(name), { done: `${name} can be started again` });
  if (found.error && !found.data)
    return (
      <Page title={name}>
        <Failed fault={found.error} retry={() => void found.refetch()} />
      </Page>
    );
  if (!found.data) return <PendingPage />;
  const workflow = found.data;
  return (
    <Page
      title={name}
      about={workflow.description}
      heading={
        <Group gap="sm">
          {name}
          <Badge tt="none" color="gray" size="lg">
            v{workflow.version}
          </Badge>
        </Group>
      }
      actions={
        <>
          {mayWrite && (
            <Button variant="default" leftSection={<IconPlus size={16} />} onClick={() => setOpen("publish")}>
              New version
            </Button>
          )}
          {mayRun && !workflow.archived_at && (
            <Button leftSection={<IconPlayerPlay size={16} />} onClick={() => setOpen("start")}>
              Start
            </Button>
          )}
          {mayWrite && !workflow.archived_at && (
            <Menu position="bottom-end">
              <Menu.Target>
                <Button variant="default" rightSection={<IconChevronDown size={16} />}>
                  More
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item color="red" onClick={() => setOpen("archive")}>
                  Archive…
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          )}
        </>
      }
    >
      {workflow.archived_at && (
        <Alert color="gray" title="Archived" role="note">
          <Text size="sm">
            Archived <When at={workflow.archived_at} />. No new executions can be started. Running executions continue,
            and all history is kept.
          </Text>
          {mayWrite && (
            <Button
              size="xs"
              variant="default"
              mt="xs"
              loading={restore.isPending}
              onClick={() => restore.mutate(undefined)}
            >
              Restore
            </Button>
          )}
        </Alert>
      )}
      <Tabs
        value={tab}
        onChange={(value) =>
          void navigate({
            to: "/workflows/$workflow",
            params: { workflow: name },
            search: { tab: value ?? "graph" },
            replace: true,
          })
        }
        keepMounted={false}
      >
        <TabRow tabs={TABS} chosen={tab} />
        <Tabs.Panel value="graph">
          <LiveGraph name={name} version={workflow.version} />
        </Tabs.Panel>
        <Tabs.Panel value="try">
          <WorkflowTrial key={workflow.version} name={name} version={workflow.version} inputs={workflow.input} />
        </Tabs.Panel>
        <Tabs.Panel value="executions">
          <Recent name={name} start={mayRun && !workflow.archived_at ? () => setOpen("start") : undefined} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions name={name} newest={workflow.version} />
        </Tabs.Panel>
        <Tabs.Panel value="document">
          <Code block tabIndex={0} aria-label="Document">
            {workflow.document}
          </Code>
        </Tabs.Panel>
      </Tabs>
      {open === "start" && <StartForm workflow={workflow} close={() => setOpen(null)} />}
      {open === "publish" && <PublishForm document={workflow.document} close={() => setOpen(null)} />}
      <Confirm
        opened={open === "archive"}
        onClose={() => setOpen(null)}
        title={`Archive ${name}?`}
        verb="Archive"
        danger
        busy={archive.isPending}
        onConfirm={() => archive.mutate(undefined)}
      >
        No new executions can be started. Running executions continue. You can restore the workflow at any time.
      </Confirm>
    </Page>
  );
}

function LiveGraph({ name, version }: { name: string; version: number }) {
  const graph = useQuery(graphQuery(name, version));
  const list = useInfiniteQuery(executionsQuery({ workflow: name }, RECENT));
  const navigate = useNavigate();
  const recent = list.data?.pages[0]?.items ?? [];
  const notes = new Map<string, string>();
  const states = new Map<string, "here" | "failed">();
  for (const each of recent) {
    if (isOver(each.status) || !each.step) continue;
    notes.set(each.step, String(Number(notes.get(each.step) ?? 0) + 1));
    if (each.status === "failed") states.set(each.step, "failed");
    else if (!states.has(each.step)) states.set(each.step, "here");
  }
  const outcomes = new Map<string, number>();
  for (const each of recent) if (isOver(each.status)) outcomes.set(ending(each), (outcomes.get(ending(each)) ?? 0) + 1);
  return (
    <Grid>
      <Grid.Col span={{ base: 12, lg: 8 }}>
        <Card>
          {graph.error ? <Failed fault={graph.error} retry={() => void graph.refetch()} /> : null}
          {graph.data && (
            <FlowGraph
              graph={graph.data}
              states={states}
              notes={notes}
              onStep={(step) => void navigate({ to: "/executions", search: { workflow: name, step } })}
            />
          )}
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 4 }}>
        <Card>
          <Title order={2} mb="sm">
            Current executions
          </Title>
          <Text size="sm" c="dimmed" mb="sm">
            Of the last {RECENT} executions, the number in a step shows how many are there. Red steps need attention.
          </Text>
          {!recent.length && <Text size="sm">No executions yet.</Text>}
          <Stack gap={4}>
            {[...outcomes]
              .sort((a, b) => b[1] - a[1])
              .map(([outcome, count]) => (
                <Group key={outcome} justify="space-between">
                  <Text size="sm">{outcome}</Text>
                  <Text size="sm" fw={600}>
                    {count}
                  </Text>
                </Group>
              ))}
          </Stack>
        </Card>
      </Grid.Col>
    </Grid>
  );
}

function Recent({ name, start }: { name: string; start: (() => void) | undefined }) {
  const list = useInfiniteQuery(executionsQuery({ workflow: name }));
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  if (list.error && !list.data) return <Failed fault={list.error} retry={() => void list.refetch()} />;
  return (
    <Stack>
      {list.data && !items.length && (
        <Text>
          None yet.{" "}
          {start && (
            <Button size="xs" variant="default" onClick={start}>
              Start one
            </Button>
          )}
        </Text>
      )}
      {items.length > 0 && <ExecutionTable executions={items} />}
      <Group justify="center">
        {list.hasNextPage && (
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more
          </Button>
        )}
        <ButtonLink variant="subtle" to="/executions" search={{ workflow: name }}>
          Filter executions
        </ButtonLink>
      </Group>
    </Stack>
  );
}

function Versions({ name, newest }: { name: string; newest: number }) {
  const versions = useQuery(versionsQuery(name));
  const [chosen, choose] = useState<{ old?: number; latest?: number }>({});
  const { old = Math.max(newest - 1, 1), latest = newest } = chosen; // until somebody chooses, the newest change
  const diff = useQuery({ ...diffQuery(name, old, latest), enabled: old !== latest });
  const choices = (versions.data?.items ?? []).map((each) => ({
    value: String(each.version),
    label: `v${each.version}`,
  }));
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Card>
          <Title order={2} mb="sm">
            Versions
          </Title>
          {versions.error ? <Failed fault={versions.error} /> : null}
          <Stack gap={6}>
            {(versions.data?.items ?? []).map((each) => (
              <Group key={each.version} justify="space-between">
                <Text size="sm">
                  <b>v{each.version}</b> by {actorWords(each.actor)}
                </Text>
                <Text size="sm" component="span">
                  <When at={each.created_at} />
                </Text>
              </Group>
            ))}
          </Stack>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Card>
          <Title order={2} mb="sm">
            Changes
          </Title>
          {newest > 1 && (
            <Group mb="sm">
              <Select
                aria-label="From version"
                w={100}
                allowDeselect={false}
                data={choices}
                value={String(old)}
                onChange={(value) => choose({ old: Number(value), latest })}
              />
              <Text size="sm">to</Text>
              <Select
                aria-label="To version"
                w={100}
                allowDeselect={false}
                data={choices}
                value={String(latest)}
                onChange={(value) => choose({ old, latest: Number(value) })}
              />
            </Group>
          )}
          {old === latest && (
            <Text size="sm" c="dimmed">
              {newest === 1 ? "Only one version exists." : "Select two versions."}
            </Text>
          )}
          {diff.error ? <Failed fault={diff.error} /> : null}
          {old !== latest &&
            diff.data &&
            (diff.data.differences.length ? (
              <List size="sm">
                {diff.data.differences.map((each) => (
                  <List.Item key={each}>{each}</List.Item>
                ))}
              </List>
            ) : (
              <Text size="sm">No differences.</Text>
            ))}
        </Card>
      </Grid.Col>
      <Grid.Col span={12}>
        {versions.data && (
          <ReplayMany
            key={newest}
            name={name}
            newest={newest}
            versions={versions.data.items.map((each) => each.version)}
          />
        )}
      </Grid.Col>
    </Grid>
  );
}
