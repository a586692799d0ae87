/** Play a scenario: the real scheduler, planner and governor on a simulated clock; watch what they did, and why. */
import {
  Alert,
  Badge,
  Button,
  Card,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Slider,
  Stack,
  Switch,
  Table,
  Text,
  Textarea,
  Title,
} from "@mantine/core";
import { useReducedMotion } from "@mantine/hooks";
import { IconPlayerPause, IconPlayerPlay, IconTestPipe } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMay } from "../api/session";
import { type Played, playScenario, type SimulationWish, scenariosQuery } from "../api/simulations";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { LaneKey, RunLanes, Steps, seconds } from "../parts/RunLanes";
import { AUTHORED, decisionReason, decisionWords } from "../words/decision";

const WATCH_MS = 14_000; // a whole scenario, whatever its length
const OWN = `name: Busy queue
minutes: 60
curve:
  - {from: 0, depth: 5}
  - {from: 10, depth: 900}
  - {from: 30, depth: 20}
endpoints:
  queue_depth:
    every: 5m
    min: 15s
    says: [depth]
    rules:
      - {name: busy, when: body.depth > 200, interval: 30s, ttl: 5m, reason: the queue is long}
checks:
  - {check: runs_within, endpoint: queue_depth, minute: 10, seconds: 300}
`;

export function Simulation() {
  const scenarios = useQuery(scenariosQuery);
  const search = useSearch({ from: "/inside/simulation" });
  const navigate = useNavigate();
  const mayRun = useMay("run");
  const [own, setOwn] = useState<string | null>(null);
  const play = useMutation({ mutationFn: (wish: SimulationWish) => playScenario(wish) });
  const chosen = search.scenario ?? "flash-sale";
  const seed = Number(search.seed ?? 1) || 1;
  const about = scenarios.data?.items.find((each) => each.name === chosen);
  const set = (change: Record<string, string>) =>
    void navigate({
      to: "/simulation",
      search: (before: object) => ({ ...before, ...change }),
      replace: true,
    });
  const start = () => play.mutate(own === null ? { scenario: chosen, seed } : { document: own, seed });
  return (
    <Page
      title="Simulation"
      about="Run a scenario with the real scheduler, planner and governor on a simulated clock with scripted targets. Nothing is called or stored."
    >
      {scenarios.error ? <Failed fault={scenarios.error} retry={() => void scenarios.refetch()} /> : null}
      {scenarios.isPending ? <Pending /> : null}
      {scenarios.data && !mayRun && (
        <Empty icon={IconTestPipe} title="View-only access" command={`mainspring simulate ${chosen}`}>
          Only operators and owners can run scenarios here. The command runs it on your own machine.
        </Empty>
      )}
      {scenarios.data && mayRun && (
        <Card>
          <Stack gap="sm">
            <Group align="flex-end" gap="sm">
              <Select
                label="Scenario"
                w={220}
                allowDeselect={false}
                disabled={own !== null}
                value={chosen}
                onChange={(value) => value && set({ scenario: value })}
                data={scenarios.data.items.map((each) => ({ value: each.name, label: each.title }))}
              />
              <NumberInput
                label="Seed"
                w={110}
                min={0}
                max={2 ** 31}
                allowDecimal={false}
                value={seed}
                onChange={(value) => set({ seed: String(value) })}
              />
              <Button leftSection={<IconPlayerPlay size={16} />} loading={play.isPending} onClick={start}>
                Run
              </Button>
              <Switch
                label="Custom scenario"
                checked={own !== null}
                onChange={(event) => setOwn(event.currentTarget.checked ? OWN : null)}
                mb={8}
              />
            </Group>
            {own === null ? (
              about && (
                <Text size="sm" c="dimmed">
                  {about.description} {about.minutes} minutes, {about.endpoints} endpoints, {about.checks} checks.
                </Text>
              )
            ) : (
              <Textarea
                label="Scenario in YAML"
                value={own}
                onChange={(event) => setOwn(event.currentTarget.value)}
                autosize
                minRows={8}
                maxRows={24}
                classNames={{ input: "mono" }}
              />
            )}
          </Stack>
        </Card>
      )}
      {play.error ? <Failed fault={play.error} /> : null}
      {play.data ? (
        <Watch key={`${play.data.title}-${play.submittedAt}`} played={play.data} />
      ) : (
        scenarios.data &&
        mayRun &&
        !play.error && (
          <Empty icon={IconTestPipe} title="No simulation yet" command={`mainspring simulate ${chosen}`}>
            Select Run to see what would run when, at which interval, and why.
          </Empty>
        )
      )}
    </Page>
  );
}

function Watch({ played }: { played: Played }) {
  // Asked at once: a film must not begin first.
  const still = useReducedMotion(false, { getInitialValueInEffect: false });
  const [now, setNow] = useState(still ? played.minutes : 0);
  const [going, setGoing] = useState(!still);
  useEffect(() => {
    if (!going) return;
    let before = performance.now();
    let frame = requestAnimationFrame(function move(at) {
      const step = ((at - before) / WATCH_MS) * played.minutes;
      before = at;
      setNow((minute) => Math.min(minute + step, played.minutes));
      frame = requestAnimationFrame(move);
    });
    return () => cancelAnimationFrame(frame);
  }, [going, played.minutes]);
  useEffect(() => {
    if (now >= played.minutes) setGoing(false);
  }, [now, played.minutes]);
  const failed = played.checks.filter((check) => !check.ok);
  const phase = played.phases.findLast((each) => each.from <= now);
  const toggle = () => {
    if (now >= played.minutes) setNow(0);
    setGoing(!going);
  };
  return (
    <Stack gap="md">
      <Group gap="sm">
        <Badge size="lg" tt="none" color={failed.length ? "red" : "green"}>
          {played.checks.length === 0
            ? "no checks"
            : failed.length
              ? `${failed.length} of ${played.checks.length} checks fail`
              : `${played.checks.length} of ${played.checks.length} checks hold`}
        </Badge>
        <Text size="sm" c="dimmed">
          {played.title}: {played.runs} runs in {played.minutes} minutes, seed {played.seed}. The same seed gives the
          same answer.
        </Text>
      </Group>
      {played.is_cut && (
        <Alert color="gray" variant="light">
          Only part of the result is shown. See <span className="mono">mainspring simulate --report</span> for all of
          it.
        </Alert>
      )}
      <Card>
        <Group justify="space-between" mb="sm">
          <Title order={2}>Runs over time</Title>
          <LaneKey />
        </Group>
        <Group gap="md" mb="sm">
          <Button
            size="xs"
            variant="default"
            onClick={toggle}
            leftSection={going ? <IconPlayerPause size={14} /> : <IconPlayerPlay size={14} />}
          >
            {going ? "Stop" : now >= played.minutes ? "Restart" : "Resume"}
          </Button>
          <Slider
            className="film"
            min={0}
            max={played.minutes}
            step={played.minutes / 400}
            value={now}
            label={null}
            thumbLabel="Minute"
            onChange={(value) => {
              setGoing(false);
              setNow(value);
            }}
          />
          <Text size="sm" className="tabular nowrap" miw={170} ml="auto" ta="right">
            minute {now.toFixed(1)}
            {phase?.phase ? ` · ${phase.phase}` : ""}
          </Text>
        </Group>
        <RunLanes minutes={played.minutes} phases={played.phases} lanes={played.endpoints} now={now} />
      </Card>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Measured played={played} now={now} />
        <Intervals played={played} now={now} />
        <Decisions played={played} now={now} />
        <Checks played={played} />
      </SimpleGrid>
    </Stack>
  );
}

type Seen = { played: Played; now: number };

function Measured({ played, now }: Seen) {
  const metrics = Object.keys(played.phases[0]?.measured ?? {}).filter(
    (name) => typeof played.phases[0]?.measured[name] === "number",
  );
  if (!metrics.length) return null;
  return (
    <Card>
      <Title order={2} mb="sm">
        Target measurements
      </Title>
      <Stack gap="xs">
        {metrics.map((name) => (
          <Steps
            key={name}
            label={name}
            minutes={played.minutes}
            phases={played.phases}
            now={now}
            words={(value) => value.toLocaleString()}
            points={played.phases.map((each) => ({ minute: each.from, value: Number(each.measured[name] ?? 0) }))}
          />
        ))}
      </Stack>
    </Card>
  );
}

function Intervals({ played, now }: Seen) {
  const moving = played.endpoints.filter(
    (each) => new Set(each.intervals.map((one) => Math.round(one.seconds))).size > 1,
  );
  return (
    <Card>
      <Title order={2} mb="sm">
        Time between runs
      </Title>
      {!moving.length && (
        <Text size="sm" c="dimmed">
          All intervals unchanged.
        </Text>
      )}
      <Stack gap="xs">
        {moving.slice(0, 8).map((each) => (
          <Steps
            key={each.name}
            label={each.name}
            minutes={played.minutes}
            phases={played.phases}
            now={now}
            words={seconds}
            ink="var(--warn)"
            points={each.intervals.map((one) => ({ minute: one.minute, value: one.seconds }))}
          />
        ))}
      </Stack>
    </Card>
  );
}

function Decisions({ played, now }: Seen) {
  const told = played.decisions.filter((each) => AUTHORED.includes(each.type) && each.minute <= now).reverse();
  return (
    <Card>
      <Title order={2} mb="sm">
        Decisions
      </Title>
      {!told.length && (
        <Text size="sm" c="dimmed">
          None yet.
        </Text>
      )}
      <div
        style={{ maxHeight: 420, overflowY: "auto" }}
        tabIndex={0}
        role="region"
        aria-label="Decisions, newest first"
      >
        <Table verticalSpacing={4}>
          <Table.Tbody>
            {told.slice(0, 300).map((each, place) => (
              <Table.Tr key={`${each.minute}-${place}`}>
                <Table.Td className="tabular nowrap" w={52} style={{ verticalAlign: "top" }}>
                  {each.minute.toFixed(1)}
                </Table.Td>
                <Table.Td>
                  <Text size="sm">
                    <b>{each.endpoint}</b>: {decisionWords(each)}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {decisionReason(each)}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Card>
  );
}

function Checks({ played }: { played: Played }) {
  if (!played.checks.length) return null;
  const sorted = [...played.checks].sort((a, b) => Number(a.ok) - Number(b.ok));
  return (
    <Card>
      <Title order={2} mb="sm">
        Checks
      </Title>
      <div style={{ maxHeight: 420, overflowY: "auto" }} tabIndex={0} role="region" aria-label="Checks">
        <Table verticalSpacing={4}>
          <Table.Tbody>
            {sorted.map((check, place) => (
              <Table.Tr key={`${check.check}-${place}`}>
                <Table.Td w={88} style={{ verticalAlign: "top" }}>
                  <Badge tt="none" miw={60} color={check.ok ? "green" : "red"}>
                    {check.ok ? "holds" : "fails"}
                  </Badge>
                </Table.Td>
                <Table.Td>
                  <Text size="sm" className="breaks">
                    {check.check}
                  </Text>
                  <Text size="xs" c="dimmed" className="breaks">
                    {check.detail}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Card>
  );
}
