import { Alert, Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { api, data } from "../../api/client";
import type { components } from "../../api/schema";
import { Failed, Pending } from "../../parts/Outcomes";
import { endpointPath, executionPath, PlainLink, workflowPath } from "../../parts/PlainLink";
import { Spacer } from "../../parts/Spacer";
import { Total } from "../../parts/Total";
import { useAction } from "../../parts/useAction";
import { useWindow } from "../../parts/useWindow";
import { When } from "../../time/When";
import { actorWords } from "../../words/actor";
import { auditWords } from "../../words/audit";
import { phraseOf } from "../../words/event";

type Entry = components["schemas"]["AuditEntryView"];

export function Audit() {
  const trail = useInfiniteQuery({
    queryKey: ["settings", "audit"],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      data(
        api.GET("/api/v1/audit", {
          params: { query: { limit: pageParam ? 200 : 50, ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
  const verify = useAction(() => data(api.GET("/api/v1/audit/verify")), { onlyReads: true });
  const entries = trail.data?.pages.flatMap((page) => page.items) ?? [];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = trail;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useWindow(entries.length, body, more);
  if (trail.error) return <Failed fault={trail.error} retry={() => void trail.refetch()} />;
  if (!trail.data) return <Pending />;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Who did what, when and from where. Each entry contains the hash of the previous one.
        </Text>
        <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate(undefined)}>
          Verify audit trail
        </Button>
      </Group>
      {entries[0] && <Total total={{ count: entries[0].seq, is_exact: true }} one="entry" many="entries" />}
      {verify.data && (
        <Alert
          color={verify.data.whole ? "green" : "red"}
          role="status"
          title={
            verify.data.whole
              ? `Verified: all ${verify.data.entries} entries are intact`
              : `Broken at entry ${verify.data.fault_at}`
          }
        >
          {verify.data.why}
        </Alert>
      )}
      <Card padding={0}>
        <Table className="stacks" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>When</Table.Th>
              <Table.Th>Who</Table.Th>
              <Table.Th>Action</Table.Th>
              <Table.Th>Subject</Table.Th>
              <Table.Th>From</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody ref={body}>
            <Spacer px={seen.above} />
            {entries.slice(seen.from, seen.to).map((entry, index) => (
              <Table.Tr key={entry.seq} data-row={seen.from + index}>
                <Table.Td className="stack-title nowrap">
                  <When at={entry.at} />
                </Table.Td>
                <Table.Td data-label="Who" className="breaks" miw={110}>
                  {actorWords(entry.actor)}
                </Table.Td>
                <Table.Td data-label="Action">
                  <div>
                    <div>{phraseOf(entry.act)}</div>
                    <div className="small mono breaks">{entry.act}</div>
                    <div className="small breaks">{auditWords(entry.detail)}</div>
                  </div>
                </Table.Td>
                <Table.Td data-label="Subject" className="breaks">
                  <Subject entry={entry} />
                </Table.Td>
                <Table.Td data-label="From" className="mono breaks" miw={90}>
                  {entry.address ?? "–"}
                </Table.Td>
              </Table.Tr>
            ))}
            <Spacer px={seen.below} />
          </Table.Tbody>
        </Table>
        {!entries.length && (
          <Text size="sm" c="dimmed" p="md">
            No entries yet.
          </Text>
        )}
      </Card>
      {trail.hasNextPage && (
        <Button
          variant="default"
          mx="auto"
          loading={trail.isFetchingNextPage}
          onClick={() => void trail.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Stack>
  );
}

function Subject({
  entry: { act, subject, endpoint, detail },
}: {
  entry: Pick<Entry, "act" | "subject" | "endpoint" | "detail">;
}) {
  if (!subject) return "–";
  if (endpoint) return <PlainLink to={endpointPath(subject)}>{endpoint}</PlainLink>;
  if (subject.startsWith("exe_"))
    return (
      <PlainLink to={executionPath(subject)} className="mono">
        {subject}
      </PlainLink>
    );
  if (act.startsWith("workflow.")) return <PlainLink to={workflowPath(subject)}>{subject}</PlainLink>;
  return typeof detail.name === "string" && detail.name !== subject ? (
    <div>
      {detail.name}
      <div className="small mono breaks">{subject}</div>
    </div>
  ) : (
    subject
  );
}
