import { Alert, Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import type { components } from "../../api/schema";
import { endpointPath, executionPath, Go, workflowPath } from "../../parts/Go";
import { Failed, Pending } from "../../parts/Outcomes";
import { useAct } from "../../parts/useAct";
import { When } from "../../time/When";
import { actorWords } from "../../words/actor";
import { auditWords } from "../../words/audit";

type Entry = components["schemas"]["AuditEntry"];

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
              <Table.Td data-label="Did"><div><div className="mono">{entry.act}</div><div className="small breaks">{auditWords(entry.detail)}</div></div></Table.Td>
              <Table.Td data-label="To" className="breaks"><Subject entry={entry} /></Table.Td>
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

function Subject({ entry: { act, subject, endpoint, detail } }: { entry: Pick<Entry, "act" | "subject" | "endpoint" | "detail"> }) {
  if (!subject) return "–";
  if (endpoint) return <Go to={endpointPath(subject)}>{endpoint}</Go>;
  if (subject.startsWith("exe_")) return <Go to={executionPath(subject)} className="mono">{subject}</Go>;
  if (act.startsWith("workflow.")) return <Go to={workflowPath(subject)}>{subject}</Go>;
  return typeof detail.name === "string" && detail.name !== subject ? <div>{detail.name}<div className="small mono breaks">{subject}</div></div> : subject;
}
