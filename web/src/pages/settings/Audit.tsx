import { Alert, Anchor, Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, data } from "../../api/client";
import { Failed, Pending } from "../../parts/Outcomes";
import { useAct } from "../../parts/useAct";
import { When } from "../../time/When";
import { actorWords } from "../../words/actor";

export function Audit() {
  const trail = useInfiniteQuery({
    queryKey: ["settings", "audit"], initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => data(api.GET("/api/v1/audit", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    getNextPageParam: (page) => page.next_cursor,
  });
  const verify = useAct(() => data(api.GET("/api/v1/audit/verify")));
  if (trail.error) return <Failed fault={trail.error} retry={() => void trail.refetch()} />;
  if (!trail.data) return <Pending />;
  const entries = trail.data.pages.flatMap((page) => page.items);
  return (
    <Stack>
      <Group justify="space-between"><Text size="sm" c="dimmed">Who did what, when and from where. Each entry seals the one before it.</Text><Button variant="default" loading={verify.isPending} onClick={() => verify.mutate(undefined)}>Verify the trail</Button></Group>
      {verify.data && <Alert color={verify.data.whole ? "green" : "red"} role="status" title={verify.data.whole ? `Whole: all ${verify.data.entries} entries fit` : `Broken at entry ${verify.data.fault_at}`}>{verify.data.why}</Alert>}
      <Card padding={0}>
        <Table className="stacks" verticalSpacing={6}>
          <Table.Thead><Table.Tr><Table.Th>When</Table.Th><Table.Th>Who</Table.Th><Table.Th>Did</Table.Th><Table.Th>To</Table.Th><Table.Th>From</Table.Th></Table.Tr></Table.Thead>
          <Table.Tbody>{entries.map((entry) => (
            <Table.Tr key={entry.seq}>
              <Table.Td className="stack-title nowrap"><When at={entry.at} /></Table.Td>
              <Table.Td data-label="Who" className="breaks">{actorWords(entry.actor)}</Table.Td>
              <Table.Td data-label="Did" className="mono">{entry.act}</Table.Td>
              <Table.Td data-label="To" className="breaks">{entry.subject?.startsWith("ep_") ? <Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: entry.subject } as never} size="sm" className="mono">{entry.subject}</Anchor> : (entry.subject ?? "–")}</Table.Td>
              <Table.Td data-label="From" className="mono">{entry.address ?? "–"}</Table.Td>
            </Table.Tr>
          ))}</Table.Tbody>
        </Table>
        {!entries.length && <Text size="sm" c="dimmed" p="md">Nothing is on record yet.</Text>}
      </Card>
      {trail.hasNextPage && <Button variant="default" mx="auto" loading={trail.isFetchingNextPage} onClick={() => void trail.fetchNextPage()}>Show more</Button>}
    </Stack>
  );
}
