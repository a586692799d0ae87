/** One run: how it ended, where the time went, what was sent and came back, the decisions before and after it. */
import { Alert, Badge, Button, Card, Grid, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconAlertTriangle, IconArrowLeft, IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { decisionQuery, endpointQuery, type Neighbours, neighboursQuery, runQuery } from "../api/queries";
import type { Endpoint, RunInFull, Step } from "../api/types";
import { BodyViewer } from "../parts/BodyViewer";
import { CallbackProgress } from "../parts/CallbackProgress";
import { KeyValueList } from "../parts/KeyValueList";
import { AnchorLink, ButtonLink } from "../parts/links";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunStatus } from "../parts/Status";
import { Trail } from "../parts/Trail";
import { Waterfall } from "../parts/Waterfall";
import { When } from "../time/When";
import { took } from "../words/duration";
import { errorTitle, runMeaning, runTone, sourceWords } from "../words/state";

export function RunDetail() {
  const { run: id } = useParams({ from: "/inside/runs/$run" });
  const run = useQuery(runQuery(id));
  if (run.error && !run.data)
    return (
      <Page title="Run">
        <Failed fault={run.error} retry={() => void run.refetch()} />
      </Page>
    );
  if (!run.data) return <PendingPage />;
  return <Shown run={run.data as RunInFull} />;
}

function Shown({ run }: { run: RunInFull }) {
  const around = useQuery(neighboursQuery(run));
  const endpoint = useQuery({ ...endpointQuery(run.endpoint_id), retry: false });
  const isAsked = ["manual", "test"].includes(run.trigger);
  const isFailed = runTone(run.status) === "bad"; // then what came back is what people came for
  const kind = endpoint.data?.kind ?? "http";
  const isPinged = kind === "heartbeat"; // and calls nothing
  const answered = (
    <Card>
      <Title order={2} mb="sm">
        {kind === "http" ? "Response" : "Result"}
      </Title>
      {run.body ? (
        <BodyViewer body={run.body} runId={run.id} />
      ) : (
        <Text size="sm" c="dimmed">
          {run.status === "running"
            ? "Not received yet."
            : "No body stored: there was none, or it was removed after its retention period."}
        </Text>
      )}
      {run.tls && <Headers title="Certificate" headers={certificateRows(run.tls)} />}
      {run.headers.length > 0 && (
        <Headers
          title={kind === "command" ? "Standard error" : "Headers"}
          headers={run.headers as [string, string][]}
        />
      )}
    </Card>
  );
  return (
    <Page
      title={`Run of ${run.endpoint}`}
      heading={
        <Group gap="sm">
          Run of {run.endpoint} <RunStatus status={run.status} code={run.status_code} />
        </Group>
      }
      about={
        <>
          {runMeaning(run.status)} <span className="mono breaks">{run.id}</span>
        </>
      }
      actions={
        <>
          <Neighbour to={around.data?.before} label="Previous run">
            <IconChevronLeft size={16} />
          </Neighbour>
          <Neighbour to={around.data?.after} label="Next run">
            <IconChevronRight size={16} />
          </Neighbour>
          <ButtonLink
            to="/endpoints/$endpoint"
            params={{ endpoint: run.endpoint_id }}
            variant="default"
            leftSection={<IconArrowLeft size={16} />}
          >
            Go to endpoint
          </ButtonLink>
        </>
      }
    >
      {run.error && (
        <Alert
          color={run.status === "success" ? "orange" : "red"}
          icon={<IconAlertTriangle />}
          title={errorTitle(run.error_code)}
        >
          <Text size="sm" className="breaks">
            {run.error}
          </Text>
        </Alert>
      )}
      {run.callback && <CallbackProgress callback={run.callback} />}
      <WhyNot run={run} around={around.data} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack>
            {isFailed && answered}
            {!isPinged && (
              <Card>
                <Title order={2} mb="sm">
                  Timing
                </Title>
                {run.phases ? (
                  <Waterfall phases={run.phases} />
                ) : (
                  <Text size="sm" c="dimmed">
                    {run.status === "running"
                      ? "Still running."
                      : run.status_code === null
                        ? "No call was made."
                        : "Not measured."}
                  </Text>
                )}
              </Card>
            )}
            {endpoint.data && !isPinged && <Request endpoint={endpoint.data} run={run} />}
            {!isFailed && answered}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack>
            <Card>
              <Title order={2} mb="sm">
                Details
              </Title>
              <KeyValueList
                rows={[
                  ["Slot", <When at={run.slot_at} />],
                  ["Started", <When at={run.started_at} />],
                  ["Ended", <When at={run.finished_at} none="not yet" />],
                  ["Duration", took(run.duration_ms)],
                  ["Lateness", took(Math.max(0, Date.parse(run.started_at) - Date.parse(run.slot_at)))],
                  [
                    "Triggered by",
                    run.trigger === "schedule" ? `schedule (${sourceWords(run.source)})` : `${run.trigger} run`,
                  ],
                  ["Attempt", String(run.attempt)],
                  ...(run.maintenance ? [["Maintenance window", run.maintenance] as [string, string]] : []),
                  ["Worker", <span className="mono breaks">{run.worker}</span>],
                  ["Address", run.address ? <span className="mono breaks">{run.address}</span> : "–"],
                ]}
              />
              <Group gap="md" mt="sm">
                <AnchorLink to="/runs" search={{ endpoint: run.endpoint_id }} size="sm">
                  All runs
                </AnchorLink>
                <AnchorLink to="/events" search={{ endpoint: run.endpoint_id }} size="sm">
                  Events
                </AnchorLink>
              </Group>
            </Card>
            {around.data && around.data.attempts.length > 1 && <Attempts run={run} attempts={around.data.attempts} />}
            <Card>
              <Title order={2} mb={4}>
                {isAsked ? "Planned at that time" : "Scheduling decision"}
              </Title>
              <Text size="xs" c="dimmed" mb="sm">
                {isAsked
                  ? "This run was requested manually, outside the schedule."
                  : "The candidates for this run and why each won or lost."}
              </Text>
              <Trail steps={run.trail} fromMs={Date.parse(run.slot_at)} />
            </Card>
            {around.data && run.status !== "running" && <After run={run} next={around.data.after} />}
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Neighbour({
  to,
  label,
  children,
}: {
  to: string | null | undefined;
  label: string;
  children: React.ReactNode;
}) {
  const common = { variant: "default", px: 8, "aria-label": label, title: label } as const;
  return to ? (
    <ButtonLink to="/runs/$run" params={{ run: to }} {...common}>
      {children}
    </ButtonLink>
  ) : (
    <Button {...common} disabled>
      {children}
    </Button>
  );
}

/** Slots that did not become an ordinary result say why, and what happened instead, beside what `error` says. */
function WhyNot({ run, around }: { run: RunInFull; around: Neighbours | undefined }) {
  const later = around?.attempts.find((each) => each.attempt > run.attempt);
  const instead = later ? (
    <>
      {" "}
      Replaced by attempt {later.attempt}:{" "}
      <AnchorLink to="/runs/$run" params={{ run: later.id }} size="sm" underline="always">
        {later.status}
      </AnchorLink>
      .
    </>
  ) : null;
  if (run.status === "missed" && run.missed_count > 0) {
    return (
      <Alert
        color="gray"
        title={run.missed_count === 1 ? "1 run missed" : `${run.missed_count.toLocaleString()} runs missed`}
      >
        No worker could start these runs in time: none was running, or the endpoint was still busy. The misfire policy
        did not run them later. You can change the policy in the endpoint's settings.
      </Alert>
    );
  }
  if (run.status === "superseded")
    return (
      <Alert color="gray" title="Superseded">
        <Text size="sm">
          The worker stopped responding, so the run was reassigned. Its result arrived too late and changed nothing.
          {instead}
        </Text>
      </Alert>
    );
  if (run.status === "abandoned")
    return (
      <Alert color="orange" title="Worker lost">
        <Text size="sm">The outcome of the call is unknown.{instead ?? " The run is retried."}</Text>
      </Alert>
    );
  if (run.status === "retried")
    return (
      <Alert color="orange" title="Failed and retried">
        <Text size="sm">The failure does not count, because it was not the last attempt.{instead}</Text>
      </Alert>
    );
  if (run.status === "unknown")
    return (
      <Alert color="orange" title="Outcome unknown">
        <Text size="sm">
          The worker was lost. This endpoint runs at most once per slot, so the run was not retried.
        </Text>
      </Alert>
    );
  return null;
}

function Request({ endpoint, run }: { endpoint: Endpoint; run: RunInFull }) {
  const isSame = Date.parse(endpoint.updated_at) <= Date.parse(run.started_at);
  return (
    <Card>
      <Title order={2} mb={4}>
        {endpoint.kind === "http" ? "Request" : "Call"}
      </Title>
      {!isSame && (
        <Text size="xs" c="dimmed" mb={4}>
          As the endpoint is now; it was changed after this run, <When at={endpoint.updated_at} />.
        </Text>
      )}
      <Text size="sm" className="mono breaks">
        {endpoint.target}
      </Text>
      {endpoint.headers.length > 0 && (
        <Headers title="Headers" headers={endpoint.headers.map((each) => [each.name, each.value])} />
      )}
      {endpoint.environment.length > 0 && (
        <Headers title="Variables" headers={endpoint.environment.map((each) => [each.name, each.value])} />
      )}
      {endpoint.body && (
        <pre className="raw" tabIndex={0} aria-label="Request body" style={{ marginTop: 8 }}>
          {endpoint.body}
        </pre>
      )}
    </Card>
  );
}

function Headers({ title, headers }: { title: string; headers: [string, string][] }) {
  return (
    <details style={{ marginTop: 10 }}>
      <summary style={{ cursor: "pointer" }}>
        <Text span size="sm" fw={600}>
          {title}
        </Text>{" "}
        <Text span size="sm" c="dimmed">
          {headers.length}
        </Text>
      </summary>
      <Table withRowBorders={false} verticalSpacing={2} layout="fixed" mt={4}>
        <Table.Tbody>
          {headers.map(([name, value], place) => (
            <Table.Tr key={place}>
              <Table.Th w="35%" fw={400} className="mono breaks" style={{ verticalAlign: "top" }} scope="row">
                {name}
              </Table.Th>
              <Table.Td className="mono breaks">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </details>
  );
}

function Attempts({ run, attempts }: { run: RunInFull; attempts: Neighbours["attempts"] }) {
  return (
    <Card>
      <Title order={2} mb="sm">
        Attempts
      </Title>
      <Stack gap={6}>
        {attempts.map((each) => (
          <Group key={each.id} justify="space-between" gap="xs">
            <Group gap="xs">
              <Text size="sm" miw={70} className="nowrap">
                Attempt {each.attempt}
              </Text>
              <RunStatus status={each.status} code={each.status_code} />
              {each.id === run.id && (
                <Badge color="gray" tt="none">
                  this run
                </Badge>
              )}
            </Group>
            <AnchorLink to="/runs/$run" params={{ run: each.id }} size="sm">
              <When at={each.started_at} />
            </AnchorLink>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

/** What was decided when it had ended: the plan of the run after it, or the endpoint's present one. */
function After({ run, next }: { run: RunInFull; next: string | null }) {
  const following = useQuery({ ...runQuery(next ?? ""), enabled: next !== null });
  const present = useQuery({ ...decisionQuery(run.endpoint_id), enabled: next === null, retry: false });
  const steps = (next ? (following.data as RunInFull | undefined)?.trail : present.data?.trail) as Step[] | undefined;
  if (!steps?.length) return null;
  return (
    <Card>
      <Title order={2} mb={4}>
        Next decision
      </Title>
      <Text size="xs" c="dimmed" mb="sm">
        {next ? (
          <>
            Scheduled{" "}
            <AnchorLink to="/runs/$run" params={{ run: next }} size="xs" underline="always">
              the next run
            </AnchorLink>
            .
          </>
        ) : (
          "Current: the next run has not started yet."
        )}
      </Text>
      <Trail steps={steps} fromMs={Date.parse(run.started_at)} />
    </Card>
  );
}

function certificateRows(tls: NonNullable<RunInFull["tls"]>): [string, string][] {
  const left = tls.days_left === null ? "unknown" : `${tls.days_left}`;
  return [
    ["days left", left],
    ["issuer", tls.issuer],
    ["subject", tls.subject],
    ["expires", tls.not_after ?? "unknown"],
  ];
}
