import { Badge, Button, Card, Stack, Table, Text } from "@mantine/core";
import { IconRobot } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type PlannerSession, type PlannerStatus, sessionsQuery } from "../../api/planner";
import { AnchorLink } from "../../parts/links";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useRows } from "../../shell/useRows";
import { When } from "../../time/When";
import { dollars } from "../../words/money";

export const sessionTone = (status: PlannerSession["status"]) =>
  status === "done" ? "green" : status === "failed" ? "red" : "gray";

export function Sessions({ status }: { status: PlannerStatus }) {
  const sessions = useInfiniteQuery(sessionsQuery());
  const items = sessions.data?.pages.flatMap((page) => page.items) ?? [];
  if (sessions.error && !sessions.data) return <Failed fault={sessions.error} retry={() => void sessions.refetch()} />;
  if (!sessions.data) return <Pending />;
  return (
    <Stack>
      {!items.length ? (
        <Empty
          icon={IconRobot}
          title={status.model ? "No model sessions yet" : "No model configured"}
          {...(status.model ? { command: "mainspring planner look NAME" } : {})}
        >
          {status.model
            ? "The model analyzes endpoints with a description when their results change. You can start an analysis on an endpoint's page."
            : "Rules work without a model. With a language model configured, its sessions and their cost appear here."}
          {status.how_to_add_a_model && (
            <Text span size="sm" c="dimmed" display="block" mt="sm">
              {status.how_to_add_a_model}
            </Text>
          )}
        </Empty>
      ) : (
        <Card padding={0}>
          <SessionTable sessions={items} />
        </Card>
      )}
      {sessions.hasNextPage && (
        <Button
          variant="default"
          mx="auto"
          loading={sessions.isFetchingNextPage}
          onClick={() => void sessions.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Stack>
  );
}

export function SessionTable({ sessions, hideEndpoint }: { sessions: PlannerSession[]; hideEndpoint?: boolean }) {
  const navigate = useNavigate();
  const open = (place: number) => {
    const each = sessions[place];
    if (each) void navigate({ to: "/planner/sessions/$session", params: { session: each.id } });
  };
  const rows = useRows(sessions.length, open);
  return (
    <Table className={hideEndpoint ? "stacks inset" : "stacks"} highlightOnHover verticalSpacing={8}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>When</Table.Th>
          {!hideEndpoint && <Table.Th>Endpoint</Table.Th>}
          <Table.Th>Outcome</Table.Th>
          <Table.Th>Actions</Table.Th>
          <Table.Th ta={{ sm: "right" }}>Tokens</Table.Th>
          <Table.Th ta={{ sm: "right" }}>Cost</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sessions.map((each, place) => (
          <Table.Tr
            key={each.id}
            {...rows.rowProps(place)}
            className="row-link"
            onClick={(event) => {
              if (!(event.target as HTMLElement).closest("a")) open(place);
            }}
          >
            <Table.Td className="stack-title nowrap">
              <AnchorLink to="/planner/sessions/$session" params={{ session: each.id }} size="sm">
                <When at={each.at} />
              </AnchorLink>
            </Table.Td>
            {!hideEndpoint && (
              <Table.Td data-label="Endpoint" className="breaks" maw={200}>
                {each.endpoint}
              </Table.Td>
            )}
            <Table.Td data-label="Outcome">
              <Badge color={sessionTone(each.status)} tt="none">
                {each.status}
                {each.mode === "live" ? "" : `, ${each.mode}`}
              </Badge>
            </Table.Td>
            <Table.Td data-label="Actions" maw={420}>
              <Text size="sm" lineClamp={2} className="breaks">
                {each.actions_taken || each.note || "nothing"}
              </Text>
            </Table.Td>
            <Table.Td data-label="Tokens" className="tabular nowrap" ta={{ sm: "right" }}>
              {(each.tokens_in + each.tokens_out).toLocaleString()}
            </Table.Td>
            <Table.Td data-label="Cost" className="tabular nowrap" ta={{ sm: "right" }}>
              {dollars(each.cost_usd)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
