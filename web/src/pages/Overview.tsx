/** What is due, running, failing and adapting right now; what ran, what comes, and who does the work. */
import { Badge, Card, Grid, Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconPlus, IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { plannerQuery } from "../api/planner";
import { activityQuery, eventsQuery, statsQuery, upcomingQuery, workersQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { EventShown } from "../api/types";
import { Deferred } from "../parts/Deferred";
import { Feed, newestFirst } from "../parts/Feed";
import { HourChart } from "../parts/HourChart";
import { AnchorLink, ButtonLink, CardLink } from "../parts/links";
import { Empty, Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { Timeline } from "../parts/Timeline";
import { When } from "../time/When";
import { dollars } from "../words/money";
import { RecentFailures } from "./overview/RecentFailures";
import { StoppedExecutions } from "./overview/StoppedExecutions";

export function Overview() {
  const stats = useQuery(statsQuery);
  const mayWrite = useMay("write");
  if (stats.error && !stats.data)
    return (
      <Page title="Overview">
        <Failed fault={stats.error} retry={() => void stats.refetch()} />
      </Page>
    );
  if (!stats.data) return <PendingPage />;
  const count = Object.entries(stats.data.endpoints).reduce(
    (sum, [state, some]) => sum + (state === "archived" ? 0 : some),
    0,
  );
  if (!count) {
    return (
      <Page title="Overview">
        <StoppedExecutions />
        <Empty
          icon={IconRocket}
          title="No endpoints yet"
          action={
            mayWrite && (
              <ButtonLink to="/endpoints/new" leftSection={<IconPlus size={16} />}>
                Create your first endpoint
              </ButtonLink>
            )
          }
          command="mainspring endpoint add hello --url https://example.com/ --every 30s"
        >
          An endpoint is a call, for example of a URL, and its schedule. Create one here or on the command line.
        </Empty>
      </Page>
    );
  }
  return <Filled stats={stats.data} count={count} />;
}

type Stats = {
  now: string;
  endpoints: Record<string, number>;
  failing: number;
  running: number;
  late: number;
  runs: Record<string, number>;
};

function Filled({ stats, count }: { stats: Stats; count: number }) {
  const [hours, setHours] = useState("24");
  const navigate = useNavigate();
  const activity = useQuery(activityQuery(Number(hours)));
  const upcoming = useQuery(upcomingQuery(60));
  const events = useQuery(eventsQuery({}, 60));
  const ended = Object.entries(stats.runs).reduce(
    (sum, [status, some]) => sum + (["running", "missed", "superseded"].includes(status) ? 0 : some),
    0,
  );
  const share = ended ? ((stats.runs.success ?? 0) / ended) * 100 : null;
  const resting = count - (stats.endpoints.active ?? 0);
  const restingKinds = Object.keys(stats.endpoints).filter(
    (state) => !["active", "archived"].includes(state) && stats.endpoints[state],
  );
  // The list filters by one state: with several it shows all.
  const restingKind = restingKinds.length === 1 ? restingKinds[0] : undefined;
  return (
    <Page title="Overview">
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
        <Figure label="Endpoints" value={count} to="/endpoints" />
        <Figure
          label="Running now"
          value={stats.running}
          to="/endpoints"
          search={{ state: "running" }}
          tone={stats.running ? "var(--calm)" : undefined}
        />
        <Figure
          label="Failing"
          value={stats.failing}
          to="/endpoints"
          search={{ state: "failing" }}
          tone={stats.failing ? "var(--bad)" : undefined}
        />
        <Figure
          label="Late"
          value={stats.late}
          to="/endpoints"
          search={{ sort: "next_run_at" }}
          tone={stats.late ? "var(--warn)" : undefined}
          hint="Due for more than five seconds but not started"
        />
        <Figure
          label="Not active"
          value={resting}
          to="/endpoints"
          search={restingKind ? { state: restingKind } : {}}
          hint="Paused, parked or deferred"
        />
        <Figure
          label="Success rate, 24 h"
          value={share === null ? "–" : `${share.toFixed(share > 99 && share < 100 ? 2 : 1)} %`}
          to="/runs"
          hint={`${ended.toLocaleString()} runs ended`}
        />
      </SimpleGrid>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Stack gap="md">
            <Card>
              <Group justify="space-between" mb="sm">
                <Title order={2}>Runs</Title>
                <SegmentedControl
                  size="xs"
                  value={hours}
                  onChange={setHours}
                  aria-label="Time range"
                  data={[
                    { value: "24", label: "24 h" },
                    { value: "72", label: "3 d" },
                    { value: "168", label: "7 d" },
                  ]}
                />
              </Group>
              {activity.error ? (
                <Failed fault={activity.error} retry={() => void activity.refetch()} />
              ) : (
                <HourChart
                  hours={activity.data?.hours ?? []}
                  open={(since, until) => void navigate({ to: "/runs", search: { since, until } })}
                />
              )}
            </Card>
            <Deferred>
              <RecentFailures />
              <StoppedExecutions />
              <Card>
                <Title order={2} mb="sm">
                  Next runs
                </Title>
                {upcoming.error ? (
                  <Failed fault={upcoming.error} retry={() => void upcoming.refetch()} />
                ) : (
                  <Timeline items={upcoming.data?.items ?? []} />
                )}
              </Card>
            </Deferred>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Stack gap="md">
            <Workers />
            <Deferred>
              <PlannerLine />
            </Deferred>
            <Deferred>
              <Card>
                <Group justify="space-between" mb="sm">
                  <Title order={2}>Activity</Title>
                  <AnchorLink to="/events" size="sm">
                    All events
                  </AnchorLink>
                </Group>
                {events.error ? (
                  <Failed fault={events.error} retry={() => void events.refetch()} />
                ) : (
                  <Feed events={inShort(events.data?.items ?? []).slice(0, 14)} />
                )}
              </Card>
            </Deferred>
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

/** Newest first, each thing once: not that a run began which ended, nor what a rule that fired wrote and moved. */
function inShort(events: EventShown[]): EventShown[] {
  const ended = new Set(events.flatMap((each) => (each.type === "run.finished" ? [each.run_id] : [])));
  const isTold = (each: EventShown) =>
    each.type === "schedule.updated" ||
    (each.type.endsWith(".started") && ended.has(each.run_id)) ||
    (each.type === "hint.written" && each.actor.startsWith("rule:"));
  return newestFirst(events.filter((each) => !isTold(each)));
}

type FigureProps = {
  label: string;
  value: number | string;
  to: "/endpoints" | "/runs";
  search?: Record<string, string>;
  tone?: string | undefined;
  hint?: string;
};

function Figure({ label, value, to, search = {}, tone, hint }: FigureProps) {
  return (
    <CardLink to={to} search={search} title={hint} style={{ textDecoration: "none", color: "inherit" }} padding="sm">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text fz={26} fw={650} lh={1.2} className="tabular" style={{ color: tone }}>
        {typeof value === "number" ? value.toLocaleString() : value}
      </Text>
    </CardLink>
  );
}

function PlannerLine() {
  const planner = useQuery(plannerQuery);
  if (!planner.data) return null;
  const { modes, rules, rules_with_faults: faults, spend, proposals_pending: pending } = planner.data;
  const mode = (["off", "shadow", "ask"] as const).find((each) => [modes.all, modes.tenant].includes(each)) ?? "live";
  return (
    <Card>
      <Group justify="space-between" mb={4}>
        <AnchorLink to="/planner" underline="never" c="inherit">
          <Title order={2}>Planner</Title>
        </AnchorLink>
        <Badge color={mode === "live" ? "green" : "orange"} tt="none">
          {mode}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed" className="tabular">
        {rules === 1 ? "1 rule" : `${rules.toLocaleString()} rules`}
        {faults > 0 && `, ${faults} with errors`} ·{" "}
        {spend.sessions > 0 ? `${dollars(spend.cost_usd)} this month` : "no cost this month"}
      </Text>
      {pending > 0 && (
        <AnchorLink to="/planner" search={{ tab: "proposals" }} size="sm">
          {pending === 1 ? "1 proposal waits" : `${pending} proposals wait`} for approval
        </AnchorLink>
      )}
    </Card>
  );
}

function Workers() {
  const workers = useQuery(workersQuery);
  const found = workers.data?.items ?? [];
  const schedules = found.some((worker) => worker.kind === "scheduler");
  return (
    <Card>
      <Group justify="space-between" mb="xs">
        <Title order={2}>Workers</Title>
        {workers.data && (
          <Badge color={schedules ? "green" : "red"} tt="none">
            {schedules ? "working" : "No scheduler is running"}
          </Badge>
        )}
      </Group>
      {workers.error ? <Failed fault={workers.error} retry={() => void workers.refetch()} /> : null}
      {workers.data && !schedules && (
        <Text size="sm">
          No scheduler is running, so no endpoint runs. Start one: <span className="mono">mainspring serve</span>
        </Text>
      )}
      <Stack gap={4}>
        {found.map((worker) => (
          <Group key={worker.id} justify="space-between" wrap="nowrap" gap="xs">
            <Text size="sm" className="clip" title={worker.id}>
              {worker.kind} <span className="mono quiet">{worker.id}</span>
            </Text>
            <Text size="xs" c="dimmed" className="nowrap">
              started <When at={worker.started_at} />
            </Text>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}
