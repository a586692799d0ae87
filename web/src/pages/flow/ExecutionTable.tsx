import { Anchor, Badge, Card, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Execution } from "../../api/flows";
import { When } from "../../time/When";
import { COLOR, type Tone } from "../../words/state";

const TONES: Record<string, Tone> = { pending: "idle", active: "calm", waiting: "calm", paused: "warn", completed: "good", failed: "bad", cancelled: "idle" };
const WAITS: Record<string, string> = { time: "until its time comes", event: "for an event", effect: "for an answer", retry: "to try again" };

export function ExecutionStatus({ status }: { status: string }) {
  return <Badge tt="none" color={COLOR[TONES[status] ?? "idle"]}>{status}</Badge>;
}

/** Where it stands, in a few words. */
export function standing(execution: Pick<Execution, "status" | "step" | "outcome" | "error" | "waits_for">): string {
  if (execution.error) return `${execution.step}: ${execution.error}`;
  if (execution.outcome) return execution.outcome;
  return `${execution.step}${WAITS[execution.waits_for] ? `, waits ${WAITS[execution.waits_for]}` : ""}`;
}

export function ExecutionTable({ executions }: { executions: Execution[] }) {
  return (
    <Card padding={0}>
      <Table className="stacks" verticalSpacing={8} highlightOnHover>
        <Table.Thead><Table.Tr><Table.Th>Execution</Table.Th><Table.Th>Status</Table.Th><Table.Th>Where</Table.Th><Table.Th>Moves</Table.Th><Table.Th>Last moved</Table.Th><Table.Th>Started</Table.Th></Table.Tr></Table.Thead>
        <Table.Tbody>
          {executions.map((each) => (
            <Table.Tr key={each.id}>
              <Table.Td className="stack-title"><div>
                <Anchor component={Link} to="/executions/$execution" params={{ execution: each.id } as never} fw={600} size="sm" className="breaks">{each.correlation || each.id}</Anchor>
                <Text size="xs" c="dimmed">{each.workflow} v{each.version}</Text>
              </div></Table.Td>
              <Table.Td data-label="Status"><ExecutionStatus status={each.status} /></Table.Td>
              <Table.Td data-label="Where" maw={320}><Text size="sm" className="breaks" lineClamp={2}>{standing(each)}</Text></Table.Td>
              <Table.Td data-label="Moves"><When at={each.wake_at} none="–" /></Table.Td>
              <Table.Td data-label="Last moved"><When at={each.moved_at} /></Table.Td>
              <Table.Td data-label="Started"><When at={each.created_at} /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
