import { Anchor, Card, Table, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Run } from "../api/types";
import { useRows } from "../shell/useRows";
import { When } from "../time/When";
import { took } from "../words/duration";
import { sourceWords } from "../words/state";
import { RunStatus } from "./Status";

/** `plain`: on a card already, so without one of its own. */
export function RunTable({ runs, hideEndpoint, plain }: { runs: Run[]; hideEndpoint?: boolean; plain?: boolean }) {
  const navigate = useNavigate();
  const open = (place: number) => { const run = runs[place]; if (run) void navigate({ to: "/runs/$run", params: { run: run.id } as never }); };
  const rows = useRows(runs.length, open);
  return (
    <Card padding={0} withBorder={!plain} radius={plain ? 0 : undefined} mx={plain ? "calc(var(--mantine-spacing-md) * -1)" : undefined}>
      <Table className={plain ? "stacks compact inset" : "stacks compact"} highlightOnHover verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Started</Table.Th>{!hideEndpoint && <Table.Th>Endpoint</Table.Th>}<Table.Th>Outcome</Table.Th><Table.Th ta={{ sm: "right" }}>Took</Table.Th><Table.Th>Why</Table.Th>{runs.some((run) => run.error) && <Table.Th>Error</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {runs.map((run, place) => (
            <Table.Tr key={run.id} {...rows.rowProps(place)} className="row-link" onClick={(event) => { if (!(event.target as HTMLElement).closest("a")) open(place); }}>
              <Table.Td className="nowrap stack-title"><Anchor component={Link} to="/runs/$run" params={{ run: run.id } as never} size="sm"><When at={run.started_at} /></Anchor></Table.Td>
              {!hideEndpoint && <Table.Td data-label="Endpoint" className="breaks" maw={260}><Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: run.endpoint_id } as never} size="sm" c="inherit" className="breaks">{run.endpoint}</Anchor></Table.Td>}
              <Table.Td data-label="Outcome"><RunStatus status={run.status} code={run.status_code} /></Table.Td>
              <Table.Td data-label="Took" className="nowrap tabular" ta={{ sm: "right" }}>{took(run.duration_ms)}</Table.Td>
              <Table.Td data-label="Why" className="nowrap"><Text size="sm" c="dimmed">{run.trigger === "schedule" ? sourceWords(run.source) : run.trigger}{run.attempt > 1 ? `, attempt ${run.attempt}` : ""}</Text></Table.Td>
              {runs.some((each) => each.error) && <Table.Td {...(run.error ? { "data-label": "Error" } : {})} maw={380}>{run.error && <Text size="sm" className="clip" maw={360} title={run.error}>{run.error}</Text>}</Table.Td>}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
