/** The demo's day: what the shop goes through, what Mainspring does about it, and why. */
import { Alert, Badge, Card, Group, List, SimpleGrid, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck, IconPlayerPlay } from "@tabler/icons-react";
import { useSession } from "../api/session";
import type { EventShown } from "../api/types";
import { LaneKey, Lanes, Steps } from "../parts/Lanes";
import { Empty, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { When } from "../time/When";
import { decisionReason, decisionWords } from "../words/decision";
import { type Day, useDay, useEventsOf, useLanes } from "./sale/useDay";

const NOW: Record<string, string> = {
  baseline:
    "Business as usual. The health checks look now and then; investigators, repairs and alerts sleep until a rule wakes them.",
  surge:
    "Five times the visitors. A rule of traffic_monitor reads that in its response and writes an interval hint: it looks more often, until the hint expires or the traffic is normal again.",
  strain:
    "Pages and queries are slow. Rules wake the investigators, run the repair once, and tell operations once per cooldown, however long it lasts.",
  critical:
    "Many visitors, few orders, and the checkout fails. Somebody is paged once. The checkout backs off, and the alert tells of it after the second failure.",
  recovery:
    "The sale is over. Hints are cleared, investigators are put to sleep, and the alert tells that the checkout is well again.",
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
      about="A real shop on this machine, forty minutes of its big day in under three, again and again. Only the time is compressed."
    >
      {isDemo ? (
        <Sale />
      ) : (
        <Empty icon={IconPlayerPlay} title="This is no demo" command="mainspring demo">
          The demo runs beside your own server, with a database of its own that is removed in the end.
        </Empty>
      )}
    </Page>
  );
}

function Sale() {
  const { day, fault } = useDay();
  return (
    <>
      {fault && (
        <Alert color="orange" role="alert" title="The demo does not answer">
          It may have ended in its terminal; <span className="mono">mainspring demo</span> starts another. What is below
          is what was seen last.
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
          <Lanes minutes={day.state.minutes} phases={day.phases} lanes={lanes} now={day.minute} />
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
    about: "the visitors come",
    proof: (_, day) =>
      day.minute >= (day.phases[1]?.from ?? 0)
        ? `${(day.state.phases[1]?.visitors ?? 0).toLocaleString()} visitors a minute`
        : undefined,
  },
  {
    title: "Adaptation",
    about: "checks tighten by rules, within their limits",
    proof: (events) => told(by(events, "traffic_monitor", "surge", "crowd")),
  },
  {
    title: "Woken",
    about: "investigators that slept begin to look",
    proof: (events) => told(by(events, "slow_page_analyzer", "wake")),
  },
  {
    title: "Alerts",
    about: "people are told, once per cooldown",
    proof: (events) => told(by(events, "emergency_oncall_page", "page") ?? by(events, "slack_operations", "alert")),
  },
  {
    title: "Recovery",
    about: "everything goes back by itself",
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
        The story of today
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
        Decisions, and why
      </Title>
      {!fired.length && (
        <Text size="sm" c="dimmed">
          No rule has fired yet. The surge comes soon.
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
        What the pager received
      </Title>
      {!day.state.messages.length && (
        <Text size="sm" c="dimmed">
          Nothing yet: the alert waits for a second failure in a row.
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
