/**
 * One endpoint: what it does now, when it runs next and why, how it has been, and everything that can be done with it.
 */
import { Alert, Button, Card, Code, Grid, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconAlertTriangle, IconHourglass, IconPlayerPause } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { acts } from "../api/actions";
import { decisionQuery, endpointQuery, healthQuery, kindsQuery, previewQuery, runsQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Endpoint, HealthWindow, Run } from "../api/types";
import { CallbackProgress } from "../parts/CallbackProgress";
import { Deferred } from "../parts/Deferred";
import { IntervalChart } from "../parts/IntervalChart";
import { KeyValueList } from "../parts/KeyValueList";
import { AnchorLink } from "../parts/links";
import { NextRun, nextRunOf } from "../parts/NextRun";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunBars } from "../parts/RunBars";
import { RunTable } from "../parts/RunTable";
import { EndpointState } from "../parts/Status";
import { Trail } from "../parts/Trail";
import { useAction } from "../parts/useAction";
import { useNow } from "../time/clock";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { duration, took } from "../words/duration";
import { calendarWords, retryWords, scheduleWords } from "../words/schedule";
import { isFailed, sourceWords } from "../words/state";
import { fieldRows } from "./endpoint/draft";
import { EndpointActions } from "./endpoint/EndpointActions";
import { Hints } from "./endpoint/Hints";
import { PauseForm } from "./endpoint/PauseForm";
import { PingUrlCard } from "./endpoint/PingUrlCard";
import { PlannerNotice } from "./endpoint/PlannerNotice";
import { PlannerCard, RulesCard, SessionsCard } from "./endpoint/RulesAndModel";
import { ProposalsCard } from "./planner/Proposals";

const LISTED = 12; // runs, before somebody asks for more
const WAIT_LOOK_MS = 3_000; // no event says that a queue has moved

export function EndpointDetail() {
  const { endpoint: id } = useParams({ from: "/inside/endpoints/$endpoint" });
  const endpoint = useQuery(endpointQuery(id));
  if (endpoint.error && !endpoint.data)
    return (
      <Page title="Endpoint">
        <Failed fault={endpoint.error} retry={() => void endpoint.refetch()} />
      </Page>
    );
  if (!endpoint.data) return <PendingPage />;
  return <Shown endpoint={endpoint.data} />;
}

function Shown({ endpoint }: { endpoint: Endpoint }) {
  const runs = useInfiniteQuery(runsQuery({ endpoint: endpoint.id }, 60));
  const preview = useQuery(previewQuery(endpoint.id));
  const [allRuns, setAllRuns] = useState(false);
  const shown = runs.data?.pages.flatMap((page) => page.items) ?? [];
  const isLong = shown.length > LISTED && !allRuns;
  return (
    <Page
      title={endpoint.name}
      heading={
        <Group gap="sm">
          {endpoint.name} <EndpointState endpoint={endpoint} />
        </Group>
      }
      about={
        <>
          <AnchorLink to="/endpoints" search={{ job: endpoint.job }} size="sm" underline="always" className="breaks">
            {endpoint.job}
          </AnchorLink>{" "}
          · {scheduleWords(endpoint)} · <span className="mono breaks">{endpoint.target}</span>
        </>
      }
      actions={<EndpointActions endpoint={endpoint} />}
    >
      {endpoint.description && (
        <Text size="sm" className="breaks">
          {endpoint.description}
        </Text>
      )}
      <Notices endpoint={endpoint} />
      <WaitNotice endpoint={endpoint} />
      {endpoint.running?.callback && <CallbackProgress callback={endpoint.running.callback} />}
      {endpoint.status === "active" && endpoint.failure_count > 0 && (
        <Failing endpoint={endpoint} last={shown.find((run) => isFailed(run.status))} />
      )}
      <PlannerNotice endpoint={endpoint} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack>
            <WhyCard endpoint={endpoint} />
            <Hints endpoint={endpoint} />
            <Card>
              <Title order={2} mb="sm">
                Time between runs
              </Title>
              <IntervalChart
                endpoint={endpoint}
                runs={shown}
                planned={endpoint.status === "active" ? (preview.data?.runs ?? []) : []}
              />
            </Card>
            <Deferred>
              <ProposalsCard endpoint={endpoint} />
              <RulesCard endpoint={endpoint} />
              <SessionsCard endpoint={endpoint} />
              <Card>
                <Group justify="space-between" mb="sm">
                  <Title order={2}>Runs</Title>
                  <RunBars runs={shown} />
                </Group>
                {runs.error ? <Failed fault={runs.error} retry={() => void runs.refetch()} /> : null}
                {runs.data &&
                  (shown.length ? (
                    <RunTable runs={isLong ? shown.slice(0, LISTED) : shown} hideEndpoint plain />
                  ) : (
                    <Text size="sm" c="dimmed">
                      No runs yet.
                    </Text>
                  ))}
                {isLong && (
                  <Button variant="default" size="xs" mt="sm" onClick={() => setAllRuns(true)}>
                    Show more
                  </Button>
                )}
                {!isLong && runs.hasNextPage && (
                  <Button
                    variant="default"
                    size="xs"
                    mt="sm"
                    loading={runs.isFetchingNextPage}
                    onClick={() => void runs.fetchNextPage()}
                  >
                    Show more
                  </Button>
                )}
              </Card>
            </Deferred>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack>
            {endpoint.kind === "heartbeat" && <PingUrlCard endpoint={endpoint} />}
            <NextCard endpoint={endpoint} />
            <HealthCard endpoint={endpoint} />
            <Deferred>
              <PlannerCard endpoint={endpoint} />
              <LimitsCard endpoint={endpoint} />
            </Deferred>
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Notices({ endpoint }: { endpoint: Endpoint }) {
  const resume = useAction(() => acts.resume(endpoint.id), { done: "Endpoint resumed" });
  const by = endpoint.pause_author;
  const mayRun = useMay("run");
  const button = mayRun && (
    <Button size="xs" variant="default" mt="xs" loading={resume.isPending} onClick={() => resume.mutate(undefined)}>
      Resume
    </Button>
  );
  if (endpoint.status === "paused") {
    return (
      <Alert color="orange" title={by ? `Paused by ${actorWords(by)}` : "Paused"}>
        <Text size="sm" className="breaks">
          {endpoint.pause_reason ? `${endpoint.pause_reason}. ` : ""}
          {nextRunOf(endpoint) ? (
            <>
              Resumes <When at={endpoint.paused_until} />.
            </>
          ) : (
            "Until resumed."
          )}
        </Text>
        {button}
      </Alert>
    );
  }
  if (endpoint.status === "parked")
    return (
      <Alert color="red" icon={<IconAlertTriangle />} title="Parked">
        <Text size="sm" className="breaks">
          {endpoint.parked_reason}
        </Text>
        {button}
      </Alert>
    );
  if (endpoint.status === "job-paused")
    return (
      <Alert color="orange" title="Job paused">
        Resume the job {endpoint.job} to run this endpoint.
      </Alert>
    );
  if (endpoint.status === "deferred")
    return (
      <Alert color="orange" title="Monthly run quota used up">
        Resumes <When at={endpoint.deferred_until} />, or when the quota is raised.
      </Alert>
    );
  if (endpoint.status === "done")
    return (
      <Alert color="gray" title="Done">
        The single run of this endpoint is over. Run it again, or set another time.
      </Alert>
    );
  if (endpoint.status === "archived")
    return (
      <Alert color="gray" title="Archived">
        The endpoint and its history are kept, but it never runs.
      </Alert>
    );
  return null;
}

/** An endpoint that is due and has not started: what it waits for, and what to change. */
function WaitNotice({ endpoint }: { endpoint: Endpoint }) {
  const dueMs = Date.parse(endpoint.run_requested_at ?? endpoint.next_run_at ?? "");
  const isDue = useNow() >= dueMs && !endpoint.running && endpoint.status === "active";
  const waiting = useQuery({ ...decisionQuery(endpoint.id), refetchInterval: isDue ? WAIT_LOOK_MS : false }).data
    ?.waiting;
  if (!waiting || !isDue) return null;
  return (
    <Alert
      color="orange"
      role="note"
      icon={<IconHourglass />}
      title={waiting.name ? `Waiting for ${waiting.name}` : "Waiting for a free slot"}
    >
      <Text size="sm" className="breaks">
        {waiting.text}
      </Text>
      <Text size="sm" className="breaks" mt={4}>
        {waiting.advice}
      </Text>
    </Alert>
  );
}

/** What it said last, the way to the whole answer, and how to quiet it. */
function Failing({ endpoint, last }: { endpoint: Endpoint; last: Run | undefined }) {
  const mayRun = useMay("run");
  const [asked, setAsked] = useState(false);
  return (
    <Alert
      color="red"
      role="note"
      icon={<IconAlertTriangle />}
      title={endpoint.failure_count === 1 ? "The last run failed" : `The last ${endpoint.failure_count} runs failed`}
    >
      {last?.error && (
        <Text size="sm" className="breaks">
          {last.error}
        </Text>
      )}
      <Group gap="md" mt="xs">
        {last && (
          <AnchorLink to="/runs/$run" params={{ run: last.id }} size="sm" underline="always">
            Last response
          </AnchorLink>
        )}
        <AnchorLink to="/settings" search={{ tab: "alerts" }} size="sm" underline="always">
          Alerts for this endpoint
        </AnchorLink>
        {mayRun && (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlayerPause size={14} />}
            onClick={() => setAsked(true)}
          >
            Pause endpoint
          </Button>
        )}
      </Group>
      {asked && <PauseForm endpoint={endpoint} close={() => setAsked(false)} />}
    </Alert>
  );
}

function WhyCard({ endpoint }: { endpoint: Endpoint }) {
  const decision = useQuery(decisionQuery(endpoint.id));
  const nowMs = useNow();
  const isFirst =
    endpoint.status === "active" && !endpoint.last_run_at && endpoint.spread && endpoint.source === "baseline-interval";
  const reasons = (decision.data?.reasons ?? []).filter((each) => !SHOWN_ELSEWHERE.has(each.kind));
  return (
    <Card>
      <Title order={2} mb={4}>
        {endpoint.kind === "heartbeat" ? "Next deadline" : "Next run"}
      </Title>
      {decision.error ? <Failed fault={decision.error} retry={() => void decision.refetch()} /> : null}
      <Text fz={22} fw={650} component="div">
        <NextRun endpoint={endpoint} />
      </Text>
      {nextRunOf(endpoint) && <Text size="sm">Set by the {sourceWords(endpoint.source)}.</Text>}
      {isFirst && (
        <Text size="sm" c="dimmed">
          The first run is spread within the interval so that endpoints don't all fire at once. Use Run now to skip the
          wait.
        </Text>
      )}
      <Stack gap={2} mb="md" mt={4}>
        {reasons.map((each) => (
          <Text key={each.text} size="sm" c="dimmed" className="breaks">
            {each.text}
          </Text>
        ))}
      </Stack>
      {decision.data && decision.data.trail.length > 0 && (
        <Trail
          steps={decision.data.trail}
          fromMs={Math.min(nowMs, Date.parse(endpoint.last_run_at ?? endpoint.created_at))}
        />
      )}
    </Card>
  );
}

/** Kinds of reasons that other parts of the page show: the next run, the wait, hints and the steps of the decision. */
const SHOWN_ELSEWHERE = new Set(["planned", "paused", "waiting", "advice", "decided", "step", "hint"]);

function NextCard({ endpoint }: { endpoint: Endpoint }) {
  const [fails, setFails] = useState(false);
  const isPinged = endpoint.kind === "heartbeat"; // its failures do not move deadlines
  const preview = useQuery(previewQuery(endpoint.id, fails ? Math.max(1, endpoint.failure_count) : undefined));
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{isPinged ? "Upcoming deadlines" : "Upcoming runs"}</Title>
        <Button
          size="compact-xs"
          variant={fails ? "light" : "default"}
          color={fails ? "red" : undefined}
          aria-pressed={fails}
          display={isPinged ? "none" : undefined}
          onClick={() => setFails(!fails)}
        >
          If every run fails
        </Button>
      </Group>
      {preview.error ? <Failed fault={preview.error} retry={() => void preview.refetch()} /> : null}
      <Stack gap={3} component="ol" style={{ listStyle: "none", margin: 0, padding: 0 }}>
        {(preview.data?.runs ?? []).slice(0, 8).map((planned) => (
          <Group key={planned.next_run_at} component="li" justify="space-between" gap="xs">
            <Text size="sm" component="span">
              <When at={planned.next_run_at} />
            </Text>
            <Text size="xs" c="dimmed">
              {sourceWords(planned.source)}
            </Text>
          </Group>
        ))}
      </Stack>
      {preview.data && !preview.data.runs.length && (
        <Text size="sm" c="dimmed">
          No upcoming runs.
        </Text>
      )}
      {!!preview.data?.excluded.length && (
        <Stack gap={3} mt="sm">
          <Title order={3} size="sm">
            No runs on these days
          </Title>
          {preview.data.excluded.slice(0, 8).map((each) => (
            <Text key={`${each.day} ${each.calendar}`} size="xs" c="dimmed" className="breaks">
              {each.day} {each.label || each.calendar}
            </Text>
          ))}
        </Stack>
      )}
    </Card>
  );
}

function HealthCard({ endpoint }: { endpoint: Endpoint }) {
  const health = useQuery(healthQuery(endpoint.id));
  return (
    <Card>
      <Title order={2} mb="sm">
        Health
      </Title>
      {health.error ? <Failed fault={health.error} retry={() => void health.refetch()} /> : null}
      {health.data && (
        <Table verticalSpacing={4} withRowBorders={false} className="tabular flush">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Last</Table.Th>
              <Table.Th ta="right">Runs</Table.Th>
              <Table.Th ta="right">Success</Table.Th>
              <Table.Th ta="right">p50</Table.Th>
              <Table.Th ta="right">p95</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {health.data.windows.map((each: HealthWindow) => (
              <Table.Tr key={each.window}>
                <Table.Td>{each.window}</Table.Td>
                <Table.Td ta="right">{each.runs.toLocaleString()}</Table.Td>
                <Table.Td
                  ta="right"
                  style={{ color: each.success_share !== null && each.success_share < 0.95 ? "var(--bad)" : undefined }}
                >
                  {each.success_share === null ? "–" : `${(each.success_share * 100).toFixed(1)} %`}
                </Table.Td>
                <Table.Td ta="right">{took(each.latency_p50_ms)}</Table.Td>
                <Table.Td ta="right">{took(each.latency_p95_ms)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {endpoint.failure_count > 0 && (
        <Text size="sm" c="red" mt="xs">
          {endpoint.failure_count === 1 ? "The last run failed" : `The last ${endpoint.failure_count} runs failed`}
        </Text>
      )}
    </Card>
  );
}

function LimitsCard({ endpoint }: { endpoint: Endpoint }) {
  const limit = (ms: number | null) => (ms === null ? "none" : duration(ms));
  const kinds = useQuery(kindsQuery);
  const kind = kinds.data?.items.find((each) => each.name === endpoint.kind);
  return (
    <Card>
      <Title order={2} mb="sm">
        Settings
      </Title>
      <KeyValueList
        rows={[
          ["Kind", endpoint.kind],
          ...fieldRows(endpoint, kind),
          [
            "Schedule",
            endpoint.cron ? (
              <>
                {scheduleWords(endpoint)} <Code>{endpoint.cron}</Code> {endpoint.timezone}
              </>
            ) : (
              scheduleWords(endpoint)
            ),
          ],
          ["Minimum interval", limit(endpoint.min_interval_ms)],
          ["Maximum interval", limit(endpoint.max_interval_ms)],
          ["Timeout", duration(endpoint.timeout_ms)],
          ...(endpoint.completes === "callback"
            ? [["Completed by", `callback, within ${limit(endpoint.callback_timeout_ms)}`] as [string, string]]
            : []),
          [
            "Success condition",
            endpoint.condition ? (
              <Code className="breaks">{endpoint.condition}</Code>
            ) : endpoint.accept_codes?.length ? (
              endpoint.accept_codes.join(", ")
            ) : (
              ({ http: "any 2xx", heartbeat: "a ping that reports success" }[endpoint.kind] ?? "the call works")
            ),
          ],
          [
            "After failures",
            { monitor: "back off up to one hour", none: "keep the interval" }[
              endpoint.kind === "heartbeat" ? "none" : endpoint.backoff
            ] ?? "double the interval, up to 32 times",
          ],
          ["Retries", retryWords(endpoint)],
          ["Missed runs", endpoint.misfire.replace("_", " ")],
          ["Calendars", calendarWords(endpoint)],
          ...(endpoint.kind === "http" ? [["Connection", endpoint.connection || "none"] as [string, string]] : []),
          [
            "Runbook",
            endpoint.runbook ? (
              <span className="breaks" style={{ whiteSpace: "pre-line" }}>
                {endpoint.runbook}
              </span>
            ) : (
              "none"
            ),
          ],
          ["Managed by", endpoint.managed_by ? <span className="mono">{endpoint.managed_by}</span> : "manual"],
          ["Changed", <When at={endpoint.updated_at} />],
          ["ID", <span className="mono">{endpoint.id}</span>],
        ]}
      />
    </Card>
  );
}
