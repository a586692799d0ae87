/** The demo's day: what the shop goes through, what Mainspring does about it, and why. */
import { Alert, Badge, Card, Group, List, SimpleGrid, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck, IconPlayerPlay } from "@tabler/icons-react";
import { useSession } from "../api/session";
import type { EventShown } from "../api/types";
import { Empty, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { LaneKey, RunLanes, Steps } from "../parts/RunLanes";
import { When } from "../time/When";
import { decisionReason, decisionWords } from "../words/decision";
import { type Day, useDemo, useEventsOf, useLanes } from "./demo/useDemo";

const NOW: Record<string, string> = {
  baseline:
    "Normal traffic. Health checks run at their usual interval. Investigators, repairs and alerts are paused until a rule resumes them.",
  surge:
    "Five times the visitors. A rule of traffic_monitor sees this in the response and sets an interval hint. The endpoint runs more often until the hint expires or traffic returns to normal.",
  strain:
    "Pages and queries are slow. Rules resume the investigators, run the repair once, and alert operations once per cooldown.",
  critical:
    "Many visitors, few orders, and the checkout fails. On-call is paged once. The checkout backs off, and an alert goes out after the second failure.",
  recovery:
    "The sale is over. Hints are cleared, investigators are paused, and an alert reports that the checkout has recovered.",
};
const METRICS = [
  ["visitors", "visitors a minute"],
  ["orders", "orders a minute"],
  ["page_load_ms", "page load, ms"],
] as const;

export function Demo() {
  const isDemo = useSession().demo;
  return (
    <Page
      title="Demo"
      heading="A shop's flash sale"
      about="A demo shop: forty minutes of a busy day replayed in under three minutes, in a loop."
    >
      {isDemo ? (
        <Sale />
      ) : (
        <Empty icon={IconPlayerPlay} title="The demo is not running" command="mainspring demo">
          The demo runs next to your own server with a separate, temporary database.
        </Empty>
      )}
    </Page>
  );
}

function Sale() {
  const { day, fault } = useDemo();
  return (
    <>
      {fault && (
        <Alert color="orange" role="alert" title="The demo is not responding">
          It may have been stopped in its terminal. Start it again with <span className="mono">mainspring demo</span>.
          The page below shows the last known state.
        </Alert>
      )}
      {day ? <Whole day={day} /> : !fault && <Pending />}
    </>
  );
}

function Whole({ day }: { day: Day }) {
  const events = useEventsOf(day);
  const lanes = useLanes(day, events);
  const fired = events.filter((event) => event.type === "rule.fired");
  return (
    <Stack gap="md">
      <div className="demo-day">
        <Card>
          <Group justify="space-between" mb={6}>
            <Group gap="sm">
              <Title order={2}>
                Day {day.state.day}, minute {Math.floor(day.minute)} of {day.state.minutes}
              </Title>
              <Badge tt="none" size="lg" color={TONES[day.current.phase] ?? "gray"}>
                {day.current.phase}
              </Badge>
            </Group>
            <LaneKey />
          </Group>
          <Text size="sm" mb="sm" role="status" mih="2lh">
            {NOW[day.current.phase]}
          </Text>
          <RunLanes minutes={day.state.minutes} phases={day.phases} lanes={lanes} now={day.minute} />
        </Card>
        <Story day={day} fired={fired} />
      </div>
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }} style={{ alignItems: "start" }}>
        <Decisions fired={[...fired].reverse()} />
        <Card>
          <Title order={2} mb="sm">
            The shop
          </Title>
          <Stack gap="xs">
            {METRICS.map(([name, label]) => (
              <Steps
                key={name}
                label={label}
                minutes={day.state.minutes}
                phases={day.phases}
                now={day.minute}
                words={(value) => value.toLocaleString()}
                points={day.state.phases.map((each) => ({ minute: each.from, value: each[name] }))}
              />
            ))}
          </Stack>
        </Card>
        <Messages day={day} />
      </SimpleGrid>
    </Stack>
  );
}

const TONES: Record<string, string> = {
  baseline: "green",
  surge: "cyan",
  strain: "orange",
  critical: "red",
  recovery: "green",
};

type Chapter = { title: string; about: string; proof: (events: EventShown[], day: Day) => string | undefined };
const by = (events: EventShown[], endpoint: string, ...rules: string[]) =>
  events.findLast((event) => event.endpoint === endpoint && rules.includes(event.actor.replace("rule:", "")));
const told = (event: EventShown | undefined) =>
  event && `${event.endpoint}: ${decisionWords(event)}, because ${String(event.data.reason ?? "")}`;

const CHAPTERS: Chapter[] = [
  {
    title: "Surge",
    about: "visitors increase",
    proof: (_, day) =>
      day.minute >= (day.phases[1]?.from ?? 0)
        ? `${(day.state.phases[1]?.visitors ?? 0).toLocaleString()} visitors a minute`
        : undefined,
  },
  {
    title: "Adaptation",
    about: "rules shorten intervals, within limits",
    proof: (events) => told(by(events, "traffic_monitor", "surge", "crowd")),
  },
  {
    title: "Resumed",
    about: "paused investigators start running",
    proof: (events) => told(by(events, "slow_page_analyzer", "wake")),
  },
  {
    title: "Alerts",
    about: "people are alerted, once per cooldown",
    proof: (events) => told(by(events, "emergency_oncall_page", "page") ?? by(events, "slack_operations", "alert")),
  },
  {
    title: "Recovery",
    about: "everything returns to normal automatically",
    proof: (events, day) =>
      day.current.phase === "recovery"
        ? told(by(events, "slow_page_analyzer", "sleep") ?? by(events, "traffic_monitor", "calm"))
        : undefined,
  },
];

function Story({ day, fired }: { day: Day; fired: EventShown[] }) {
  return (
    <Card>
      <Title order={2} mb="sm">
        Today's timeline
      </Title>
      <List spacing="sm" center={false} listStyleType="none">
        {CHAPTERS.map((chapter, place) => {
          const proof = chapter.proof(fired, day);
          return (
            <List.Item
              key={chapter.title}
              icon={
                <ThemeIcon
                  size={24}
                  radius="xl"
                  variant={proof ? "filled" : "light"}
                  color={proof ? "green" : "gray"}
                  role="img"
                  aria-label={proof ? "seen" : "to come"}
                >
                  {proof ? <IconCheck size={14} /> : <span>{place + 1}</span>}
                </ThemeIcon>
              }
            >
              <Text size="sm" fw={600}>
                {chapter.title}
              </Text>
              <Text size="sm" c={proof ? undefined : "dimmed"} className="breaks">
                {proof ?? chapter.about}
              </Text>
            </List.Item>
          );
        })}
      </List>
    </Card>
  );
}

function Decisions({ fired }: { fired: EventShown[] }) {
  return (
    <Card>
      <Title order={2} mb="sm">
        Decisions and reasons
      </Title>
      {!fired.length && (
        <Text size="sm" c="dimmed">
          No rule has matched yet. The surge starts soon.
        </Text>
      )}
      <Stack gap={8}>
        {fired.slice(0, 12).map((event) => (
          <Group key={event.cursor} justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
            <div style={{ minWidth: 0 }}>
              <Text size="sm" className="breaks">
                <b>{event.endpoint}</b>: {decisionWords(event)}
              </Text>
              <Text size="xs" c="dimmed" className="breaks">
                {decisionReason(event)}
              </Text>
            </div>
            <Text size="xs" c="dimmed" className="nowrap" component="span">
              <When at={event.at} />
            </Text>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

function Messages({ day }: { day: Day }) {
  return (
    <Card>
      <Title order={2} mb="sm">
        Messages to on-call
      </Title>
      {!day.state.messages.length && (
        <Text size="sm" c="dimmed">
          None yet. The alert waits for a second consecutive failure.
        </Text>
      )}
      <Stack gap={6}>
        {day.state.messages.slice(0, 6).map((each) => (
          <Group key={each.at} justify="space-between" wrap="nowrap" gap="xs">
            <Text size="sm" className="breaks">
              {each.title}
            </Text>
            <Text size="xs" c="dimmed" component="span">
              <When at={each.at} />
            </Text>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}
