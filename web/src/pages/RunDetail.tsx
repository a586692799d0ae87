/** One run: how it ended, where the time went, what came back, and the decision that planned it. */
import { Alert, Anchor, Button, Card, Grid, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconAlertTriangle, IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { runQuery } from "../api/queries";
import type { RunInFull } from "../api/types";
import { BodyViewer } from "../parts/BodyViewer";
import { Facts } from "../parts/Facts";
import { Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunStatus } from "../parts/Status";
import { Trail } from "../parts/Trail";
import { Waterfall } from "../parts/Waterfall";
import { When } from "../time/When";
import { took } from "../words/duration";
import { runMeaning, sourceWords } from "../words/state";

export function RunDetail() {
  const { run: id } = useParams({ from: "/inside/runs/$run" });
  const run = useQuery(runQuery(id));
  if (run.error && !run.data) return <Page title="Run"><Failed fault={run.error} retry={() => void run.refetch()} /></Page>;
  if (!run.data) return <Pending />;
  return <Shown run={run.data as RunInFull} />;
}

function Shown({ run }: { run: RunInFull }) {
  return (
    <Page
      title={`Run of ${run.endpoint}`}
      heading={<Group gap="sm">Run of {run.endpoint} <RunStatus status={run.status} code={run.status_code} /></Group>}
      about={<>{runMeaning(run.status)} <span className="mono">{run.id}</span></>}
      actions={<Button component={Link} to="/endpoints/$endpoint" params={{ endpoint: run.endpoint_id } as never} variant="default" leftSection={<IconArrowLeft size={16} />}>To the endpoint</Button>}
    >
      {run.error && <Alert color="red" icon={<IconAlertTriangle />} title={run.error_code ?? "Error"}><Text size="sm" className="breaks">{run.error}</Text></Alert>}
      {run.status === "missed" && <Alert color="gray" title={`${run.missed_count} slots were missed`}>Nothing could run them in time; the misfire policy of the endpoint did not run them later.</Alert>}
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack>
            <Card>
              <Title order={2} mb="sm">Where the time went</Title>
              {run.phases ? <Waterfall phases={run.phases} /> : <Text size="sm" c="dimmed">No call was made, or it has not ended.</Text>}
            </Card>
            <Card>
              <Title order={2} mb="sm">Response</Title>
              {run.body ? <BodyViewer body={run.body} runId={run.id} /> : <Text size="sm" c="dimmed">No body is kept: there was none, or its time is over.</Text>}
            </Card>
            {run.headers.length > 0 && <Headers headers={run.headers as [string, string][]} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack>
            <Card>
              <Title order={2} mb="sm">Facts</Title>
              <Facts rows={[
                ["Slot", <When at={run.slot_at} />],
                ["Started", <When at={run.started_at} />],
                ["Ended", <When at={run.finished_at} none="not yet" />],
                ["Took", took(run.duration_ms)],
                ["Lateness", took(Math.max(0, Date.parse(run.started_at) - Date.parse(run.slot_at)))],
                ["Began because", run.trigger === "schedule" ? `${sourceWords(run.source)} (schedule)` : run.trigger],
                ["Attempt", String(run.attempt)],
                ["Worker", <span className="mono breaks">{run.worker}</span>],
                ["Address", run.address ? <span className="mono breaks">{run.address}</span> : "–"],
              ]} />
              <Anchor component={Link} to="/runs" search={{ endpoint: run.endpoint_id } as never} size="sm" mt="sm">Other runs of this endpoint</Anchor>
            </Card>
            <Card>
              <Title order={2} mb="sm">The decision after it</Title>
              <Trail steps={run.trail} fromMs={Date.parse(run.started_at)} />
            </Card>
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Headers({ headers }: { headers: [string, string][] }) {
  return (
    <Card>
      <Title order={2} mb="sm">Response headers</Title>
      <Table withRowBorders={false} verticalSpacing={2} layout="fixed">
        <Table.Tbody>
          {headers.map(([name, value], place) => (
            <Table.Tr key={place}>
              <Table.Th w="35%" fw={400} className="mono breaks" style={{ verticalAlign: "top" }} scope="row">{name}</Table.Th>
              <Table.Td className="mono breaks">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
