/** The log of an execution, its verification, and a replay of it. */
import { Alert, Badge, Button, Card, Group, Select, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ExecutionInFull, flowActs, logQuery, versionsQuery } from "../../api/workflows";
import { Failed } from "../../parts/Outcomes";
import { When } from "../../time/When";

const many = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : more}`;

export function ExecutionLog({ execution }: { execution: ExecutionInFull }) {
  const log = useQuery(logQuery(execution.id, execution.entries));
  const verify = useMutation({ mutationFn: () => flowActs.verify(execution.id) });
  const verdict = verify.data;
  return (
    <Stack>
      <Group>
        <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
          Verify hash chain
        </Button>
        <Text size="sm" c="dimmed">
          Each entry contains the hash of the previous one, so any change is detected.
        </Text>
      </Group>
      {verify.error ? <Failed fault={verify.error} /> : null}
      {verdict &&
        (verdict.valid ? (
          <Alert color="green" title="Log verified" role="status">
            <Text size="sm">
              {many(verdict.entries, "entry", "entries")}, {many(verdict.ticks, "tick")} and{" "}
              {many(verdict.checkpoints, "signed checkpoint")} fit.
            </Text>
          </Alert>
        ) : (
          <Alert color="red" title="Log verification failed" role="alert">
            <Text size="sm" className="breaks">
              Entry {verdict.breach?.number}, {verdict.breach?.field}: expected {verdict.breach?.expected}, found{" "}
              {verdict.breach?.found}.
            </Text>
          </Alert>
        ))}
      {log.error ? <Failed fault={log.error} retry={() => void log.refetch()} /> : null}
      <Card padding={0}>
        <Table className="stacks" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>#</Table.Th>
              <Table.Th>When</Table.Th>
              <Table.Th>Step</Table.Th>
              <Table.Th>Action</Table.Th>
              <Table.Th>Output</Table.Th>
              <Table.Th>Hash</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {(log.data?.items ?? []).map((each) => (
              <Table.Tr key={each.number}>
                <Table.Td data-label="#">{each.number}</Table.Td>
                <Table.Td data-label="When" className="nowrap">
                  <When at={each.at} />
                  <div className="small tabular">tick {each.tick.toLocaleString()}</div>
                </Table.Td>
                <Table.Td data-label="Step">{each.step}</Table.Td>
                <Table.Td data-label="Action">{each.action}</Table.Td>
                <Table.Td data-label="Output" maw={360}>
                  <Text size="xs" className="mono breaks" lineClamp={3}>
                    {each.erased ? "erased" : JSON.stringify(each.output)}
                  </Text>
                </Table.Td>
                <Table.Td data-label="Hash">
                  <span className="mono" title={`${each.hash}\nbefore it ${each.previous}`}>
                    {each.hash.slice(0, 12)}
                  </span>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Card>
    </Stack>
  );
}

/** `first`: the version to begin with, as an address names it (`?version=v2`). */
export function ExecutionReplay({ execution, first }: { execution: ExecutionInFull; first: number }) {
  const versions = useQuery(versionsQuery(execution.workflow));
  const [version, setVersion] = useState(first);
  const replay = useMutation({
    mutationFn: () => flowActs.replay(execution.id, version === execution.version ? null : version),
  });
  const result = replay.data;
  return (
    <Stack>
      <Group align="flex-end">
        <Select
          label="With version"
          w={140}
          allowDeselect={false}
          value={String(version)}
          onChange={(value) => {
            setVersion(Number(value));
            replay.reset();
          }}
          data={(versions.data?.items ?? [{ version: execution.version }]).map((each) => ({
            value: String(each.version),
            label: `v${each.version}${each.version === execution.version ? " (original)" : ""}`,
          }))}
        />
        <Button loading={replay.isPending} onClick={() => replay.mutate()}>
          Replay
        </Button>
        <Text size="sm" c="dimmed" mb={8}>
          Runs the execution again from its log, without calls or waiting.
        </Text>
      </Group>
      {replay.error ? <Failed fault={replay.error} /> : null}
      {result && (
        <Alert
          color={result.identical ? "green" : "orange"}
          role="status"
          title={
            result.identical
              ? `Identical, ${result.steps.length === 1 ? "1 entry" : `all ${result.steps.length} entries`}`
              : many(result.diffs.length, "difference")
          }
        >
          {result.diffs.slice(0, 20).map((each) => (
            <Text size="sm" key={`${each.number}-${each.field}`} className="breaks">
              Entry {each.number}, {each.step}, {each.field}: expected {each.expected}, got {each.actual}
            </Text>
          ))}
        </Alert>
      )}
      {result && (
        <Card padding={0}>
          <Table verticalSpacing={4}>
            <Table.Tbody>
              {result.steps.map((each) => (
                <Table.Tr key={each.number}>
                  <Table.Td w={50}>{each.number}</Table.Td>
                  <Table.Td>{each.step}</Table.Td>
                  <Table.Td>
                    <Badge tt="none" miw={80} color={each.identical ? "green" : "orange"}>
                      {each.identical ? "identical" : "differs"}
                    </Badge>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
    </Stack>
  );
}
