/** What rules and the model changed: what is in force now, with the way back, and what they did lately. */
import { Button, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconArrowBackUp, IconBulb } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { acts, bulkAct } from "../../api/actions";
import { endpointsQuery, eventsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Confirm } from "../../parts/Confirm";
import { Feed } from "../../parts/Feed";
import { AnchorLink } from "../../parts/links";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { isForever } from "../../time/format";
import { When } from "../../time/When";
import { actorWords, isPlanner } from "../../words/actor";
import { duration } from "../../words/duration";
import { scheduleWords } from "../../words/schedule";

export function PlannerChanges() {
  const adapting = useInfiniteQuery(endpointsQuery({ state: "adapting" }, 100));
  const paused = useInfiniteQuery(endpointsQuery({ state: "paused" }, 100));
  const fired = useQuery(eventsQuery({ type: "rule.fired" }, 100));
  const navigate = useNavigate();
  const all = [adapting, paused, fired];
  const failed = all.find((each) => each.error && !each.data);
  if (failed) return <Failed fault={failed.error} retry={() => all.forEach((each) => void each.refetch())} />;
  if (!adapting.data || !paused.data || !fired.data) return <Pending />;
  const changed = [
    ...adapting.data.pages.flatMap((page) => page.items).flatMap(hinted),
    ...paused.data.pages.flatMap((page) => page.items).flatMap(asleep),
  ];
  const events = fired.data.items.filter((event) => !event.data.shadow).reverse();
  const more = [adapting, paused].find((each) => each.hasNextPage);
  if (!changed.length && !events.length) {
    return (
      <Empty
        icon={IconBulb}
        title="No planner changes yet"
        command="mainspring rules add NAME --when 'status_code >= 500' --interval 30s --ttl 10m"
        action={
          <Button onClick={() => void navigate({ to: "/planner", search: { tab: "rules" } })}>Go to rules</Button>
        }
      >
        When a rule or the model changes a schedule, the change appears here with its reason. You can undo it.
      </Empty>
    );
  }
  return (
    <Stack>
      <InForce changed={changed} />
      {more && (
        <Button variant="default" mx="auto" loading={more.isFetchingNextPage} onClick={() => void more.fetchNextPage()}>
          Show more
        </Button>
      )}
      <Card>
        <Title order={2} mb="sm">
          Recent rule matches
        </Title>
        {events.length ? (
          <Feed events={events} />
        ) : (
          <Text size="sm" c="dimmed">
            No rule has matched recently.
          </Text>
        )}
      </Card>
    </Stack>
  );
}

/** One change that is in force: a hint, whoever gave it, or a pause that a rule or the model ordered. */
type Change = { endpoint: Endpoint; runs: ReactNode; until: ReactNode; author: string; reason: string; isPause?: true };

function hinted(endpoint: Endpoint): Change[] {
  const { interval_hint: every, one_shot_hint: once } = endpoint;
  const hint = every ?? once;
  if (!hint) return [];
  const runs = every ? (
    `every ${duration(every.interval_ms)}`
  ) : (
    <span>
      one more run, <When at={once?.next_run_at} />
    </span>
  );
  return [{ endpoint, runs, until: <When at={hint.expires_at} />, author: hint.author, reason: hint.reason }];
}

function asleep(endpoint: Endpoint): Change[] {
  const author = endpoint.pause_author;
  if (!isPlanner(author)) return [];
  const until = isForever(endpoint.paused_until) ? "resumed" : <When at={endpoint.paused_until} />;
  return [{ endpoint, runs: "paused", until, author, reason: endpoint.pause_reason, isPause: true }];
}

function InForce({ changed }: { changed: Change[] }) {
  const mayRun = useMay("run");
  const [asked, setAsked] = useState(false);
  const undo = useAction(
    ({ endpoint, isPause }: Change) => (isPause ? acts.resume(endpoint.id) : acts.clearHints(endpoint.id)),
    { done: "Undone; the original schedule applies until a rule or the model changes it again" },
  );
  const byPlanner = changed.filter((each) => isPlanner(each.author));
  const all = useAction(() => undoAll(byPlanner), {
    done: (count) => `Undone for ${count}`,
    after: () => setAsked(false),
  });
  return (
    <Card padding={0} pb={changed.length ? 0 : "md"}>
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2}>Active changes</Title>
        {mayRun && byPlanner.length > 1 && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconArrowBackUp size={14} />}
            onClick={() => setAsked(true)}
          >
            Undo all {byPlanner.length}
          </Button>
        )}
      </Group>
      {!changed.length && (
        <Text size="sm" c="dimmed" px="md">
          All endpoints run on their original schedule.
        </Text>
      )}
      {changed.length > 0 && (
        <Table className="stacks inset" verticalSpacing={8}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Endpoint</Table.Th>
              <Table.Th>Runs</Table.Th>
              <Table.Th>Instead of</Table.Th>
              <Table.Th>Until</Table.Th>
              <Table.Th>By</Table.Th>
              {mayRun && <Table.Th>Actions</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changed.map((each) => (
              <Table.Tr key={`${each.endpoint.id}-${each.isPause ?? false}`}>
                <Table.Td className="stack-title breaks" maw={420}>
                  <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: each.endpoint.id }} size="sm" fw={600}>
                    {each.endpoint.name}
                  </AnchorLink>
                </Table.Td>
                <Table.Td data-label="Runs">{each.runs}</Table.Td>
                <Table.Td data-label="Instead of">{scheduleWords(each.endpoint)}</Table.Td>
                <Table.Td data-label="Until">{each.until}</Table.Td>
                <Table.Td data-label="By" miw={110} maw={360}>
                  <div>
                    <Text size="sm" className="breaks">
                      {actorWords(each.author)}
                    </Text>
                    {each.reason && (
                      <Text size="xs" c="dimmed" className="breaks">
                        {each.reason}
                      </Text>
                    )}
                  </div>
                </Table.Td>
                {mayRun && (
                  <Table.Td>
                    <Button
                      size="compact-sm"
                      variant="default"
                      leftSection={<IconArrowBackUp size={14} />}
                      aria-label={`Undo for ${each.endpoint.name}`}
                      loading={undo.isPending && undo.variables?.endpoint.id === each.endpoint.id}
                      onClick={() => undo.mutate(each)}
                    >
                      Undo
                    </Button>
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Confirm
        opened={asked}
        onClose={() => setAsked(false)}
        title="Undo all planner changes?"
        verb="Undo all"
        busy={all.isPending}
        onConfirm={() => all.mutate(undefined)}
      >
        {byPlanner.length} endpoints run by their own schedules again. Rules stay, and may change them again; set the
        planner to shadow or off to keep it from that.
      </Confirm>
    </Card>
  );
}

async function undoAll(changes: Change[]): Promise<number> {
  let count = 0;
  for (const verb of ["resume", "clear-hints"] as const) {
    const ids = changes.filter((each) => !!each.isPause === (verb === "resume")).map((each) => each.endpoint.id);
    if (ids.length) count += (await bulkAct(verb, { ids }, {}, false)).changed;
  }
  return count;
}
