/** What rules and the model changed: what is in force now, with the way back, and what they did lately. */
import { Anchor, Button, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconArrowBackUp, IconBulb } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { acts, bulkAct } from "../../api/acts";
import { endpointsQuery, eventsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Confirm } from "../../parts/Confirm";
import { Feed } from "../../parts/Feed";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAct } from "../../parts/useAct";
import { When } from "../../time/When";
import { actorWords, isPlanner } from "../../words/actor";
import { duration } from "../../words/duration";
import { scheduleWords } from "../../words/schedule";

export function Done() {
  const adapting = useInfiniteQuery(endpointsQuery({ state: "adapting" }, 100));
  const fired = useQuery(eventsQuery({ type: "rule.fired" }, 100));
  const navigate = useNavigate();
  const endpoints = adapting.data?.pages.flatMap((page) => page.items) ?? [];
  const events = (fired.data?.items ?? []).filter((event) => !event.data.shadow).reverse();
  const fault = adapting.error ?? fired.error;
  if (fault && !(adapting.data && fired.data)) return <Failed fault={fault} retry={() => { void adapting.refetch(); void fired.refetch(); }} />;
  if (!adapting.data || !fired.data) return <Pending />;
  if (!endpoints.length && !events.length) {
    return (
      <Empty icon={IconBulb} title="The planner has changed nothing yet" command="mainspring rules add NAME --when 'status_code >= 500' --interval 30s --ttl 10m" action={<Button onClick={() => void navigate({ to: "/planner", search: { tab: "rules" } as never })}>To the rules</Button>}>
        When a rule or the model changes when an endpoint runs, it stands here with its reason, and a button that takes it back.
      </Empty>
    );
  }
  return (
    <Stack>
      <InForce endpoints={endpoints} />
      {adapting.hasNextPage && <Button variant="default" mx="auto" loading={adapting.isFetchingNextPage} onClick={() => void adapting.fetchNextPage()}>Show more</Button>}
      <Card>
        <Title order={2} mb="sm">What rules did lately</Title>
        {events.length ? <Feed events={events} /> : <Text size="sm" c="dimmed">No rule has fired among the newest events.</Text>}
      </Card>
    </Stack>
  );
}

function InForce({ endpoints }: { endpoints: Endpoint[] }) {
  const mayRun = useMay("run");
  const [asked, setAsked] = useState(false);
  const undo = useAct((endpoint: Endpoint) => acts.clearHints(endpoint.id), { done: "Undone: its own schedule is back, until a rule or the model asks again" });
  const byPlanner = endpoints.filter((each) => hintsOf(each).some((hint) => isPlanner(hint.author)));
  const all = useAct(() => bulkAct("clear-hints", { ids: byPlanner.map((each) => each.id) }, {}, false), { done: (total) => `Undone for ${total.changed}`, after: () => setAsked(false) });
  return (
    <Card padding={0} pb={endpoints.length ? 0 : "md"}>
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2}>In force now</Title>
        {mayRun && byPlanner.length > 1 && <Button size="compact-sm" variant="default" leftSection={<IconArrowBackUp size={14} />} onClick={() => setAsked(true)}>Undo all {byPlanner.length}</Button>}
      </Group>
      {!endpoints.length && <Text size="sm" c="dimmed" px="md">Every endpoint runs by its own schedule.</Text>}
      {endpoints.length > 0 && (
        <Table className="stacks inset" verticalSpacing={8}>
          <Table.Thead><Table.Tr><Table.Th>Endpoint</Table.Th><Table.Th>Runs</Table.Th><Table.Th>Instead of</Table.Th><Table.Th>Until</Table.Th><Table.Th>By</Table.Th>{mayRun && <Table.Th>Actions</Table.Th>}</Table.Tr></Table.Thead>
          <Table.Tbody>
            {endpoints.map((each) => hintsOf(each).slice(0, 1).map((hint) => (
              <Table.Tr key={each.id}>
                <Table.Td className="stack-title breaks"><Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: each.id } as never} size="sm" fw={600}>{each.name}</Anchor></Table.Td>
                <Table.Td data-label="Runs">{each.interval_hint ? `every ${duration(each.interval_hint.interval_ms)}` : <span>once more, <When at={each.one_shot_hint?.next_run_at} /></span>}</Table.Td>
                <Table.Td data-label="Instead of">{scheduleWords(each)}</Table.Td>
                <Table.Td data-label="Until"><When at={hint.expires_at} /></Table.Td>
                <Table.Td data-label="By" maw={360}><div><Text size="sm" className="breaks">{actorWords(hint.author)}</Text>{hint.reason && <Text size="xs" c="dimmed" className="breaks">{hint.reason}</Text>}</div></Table.Td>
                {mayRun && <Table.Td><Button size="compact-sm" variant="default" leftSection={<IconArrowBackUp size={14} />} aria-label={`Undo for ${each.name}`} loading={undo.isPending && undo.variables?.id === each.id} onClick={() => undo.mutate(each)}>Undo</Button></Table.Td>}
              </Table.Tr>
            )))}
          </Table.Tbody>
        </Table>
      )}
      <Confirm opened={asked} onClose={() => setAsked(false)} title="Undo all that the planner has in force?" verb="Undo all" busy={all.isPending} onConfirm={() => all.mutate(undefined)}>
        {byPlanner.length} endpoints run by their own schedules again. Rules stay, and may change them again; set the planner to shadow or off to keep it from that.
      </Confirm>
    </Card>
  );
}

const hintsOf = (endpoint: Endpoint) => [endpoint.interval_hint, endpoint.one_shot_hint].flatMap((each) => (each ? [each] : []));
