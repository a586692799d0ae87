/** Play another schedule, other limits or fewer rules over what was recorded. Nothing is called, nothing is kept. */
import { Button, Card, Checkbox, Grid, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconApi, IconPlayerPlay, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type BacktestChange, plannerActs, type Rule, rulesQuery } from "../../api/planner";
import { endpointQuery, endpointsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { BacktestResult } from "../../parts/BacktestResult";
import { EndpointPicker } from "../../parts/EndpointPicker";
import { ButtonLink } from "../../parts/links";
import { Command, Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { duration } from "../../words/duration";
import { RuleForm } from "./RuleForm";

export function Backtests() {
  const { endpoint: id } = useSearch({ from: "/inside/planner" });
  const mayWrite = useMay("write");
  const navigate = useNavigate();
  const some = useInfiniteQuery(endpointsQuery({}, 20));
  const endpoint = useQuery({ ...endpointQuery(id ?? ""), enabled: !!id });
  const rules = useInfiniteQuery({ ...rulesQuery({ endpoint: id ?? "" }), enabled: !!id });
  const choose = (wanted: string | null) =>
    void navigate({
      to: "/planner",
      search: { tab: "backtest", ...(wanted ? { endpoint: wanted } : {}) },
      replace: true,
    });
  if (some.data && !some.data.pages[0]?.items.length) {
    return (
      <Empty
        icon={IconApi}
        title="No recorded runs yet"
        command="mainspring backtest NAME --every 30s"
        action={
          mayWrite && (
            <ButtonLink to="/endpoints/new" leftSection={<IconPlus size={16} />}>
              Create your first endpoint
            </ButtonLink>
          )
        }
      >
        A back-test applies a change to past runs before you make it. It needs an endpoint with recorded runs.
      </Empty>
    );
  }
  const fault = endpoint.error ?? rules.error;
  const kept = rules.data?.pages.flatMap((page) => page.items);
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        See how a different interval, limits or rules would have behaved on recorded runs. All endpoints of the job are
        included because their rules can act on each other. Nothing is called or stored.
      </Text>
      <Group>
        <EndpointPicker value={id ?? null} set={choose} label="Endpoint" required />
      </Group>
      {fault ? (
        <Failed
          fault={fault}
          retry={() => {
            void endpoint.refetch();
            void rules.refetch();
          }}
        />
      ) : null}
      {id && !fault && !(endpoint.data && kept) ? <Pending /> : null}
      {id && endpoint.data && kept && <Play key={id} endpoint={endpoint.data} rules={kept} />}
    </Stack>
  );
}

function Play({ endpoint, rules }: { endpoint: Endpoint; rules: Rule[] }) {
  const mayWrite = useMay("write");
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const [interval, setInterval] = useState("");
  const [least, setLeast] = useState("");
  const [most, setMost] = useState("");
  const [writing, setWriting] = useState(false);
  const given = (name: keyof BacktestChange, text: string) => (text.trim() ? { [name]: text.trim() } : {});
  const change: BacktestChange = {
    ...(off.size ? { rules: rules.filter((each) => !off.has(each.id)).map((each) => each.rule) } : {}),
    ...given("every", interval),
    ...given("min_interval", least),
    ...given("max_interval", most),
  };
  const play = useAction(() => plannerActs.backtest({ endpoint: endpoint.id }, change), {
    quiet: true,
    onlyReads: true,
  });
  const fault = play.error ? asProblem(play.error) : null;
  const isPlaced = ["every", "min_interval", "max_interval"].some((field) => fault?.of(field));
  const toggle = (id: string) =>
    setOff((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  const none = (ms: number | null) => (ms === null ? "none" : duration(ms));
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Card
          component="form"
          onSubmit={(event: React.FormEvent) => {
            event.preventDefault();
            play.mutate(undefined);
          }}
        >
          <Title order={2} mb="sm">
            Changes
          </Title>
          <Stack gap="sm">
            <TextInput
              label="Run every"
              placeholder={endpoint.interval_ms === null ? (endpoint.cron ?? "") : duration(endpoint.interval_ms)}
              value={interval}
              onChange={(event) => setInterval(event.currentTarget.value)}
              error={fault?.of("every")}
            />
            <Group grow align="flex-start">
              <TextInput
                label="Minimum interval"
                placeholder={none(endpoint.min_interval_ms)}
                value={least}
                onChange={(event) => setLeast(event.currentTarget.value)}
                error={fault?.of("min_interval")}
              />
              <TextInput
                label="Maximum interval"
                placeholder={none(endpoint.max_interval_ms)}
                value={most}
                onChange={(event) => setMost(event.currentTarget.value)}
                error={fault?.of("max_interval")}
              />
            </Group>
            {rules.length > 0 && (
              <Stack gap={6}>
                <Text size="sm" fw={500}>
                  Rules
                </Text>
                {rules.map((each) => (
                  <Checkbox
                    key={each.id}
                    checked={!off.has(each.id)}
                    onChange={() => toggle(each.id)}
                    label={String(each.rule.name)}
                    description={`${String(each.rule.when)}: ${each.does}`}
                  />
                ))}
              </Stack>
            )}
            {fault && !isPlaced && (
              <Text size="sm" c="red" role="alert" className="breaks">
                {fault.message}
              </Text>
            )}
            <Group>
              <Button type="submit" leftSection={<IconPlayerPlay size={16} />} loading={play.isPending}>
                Run back-test
              </Button>
              {mayWrite && (
                <Button variant="default" onClick={() => setWriting(true)}>
                  Test new rule
                </Button>
              )}
            </Group>
          </Stack>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Card>
          <Title order={2} mb="sm">
            Result
          </Title>
          {play.data ? (
            <BacktestResult tested={play.data} />
          ) : (
            <Stack gap="sm">
              <Text size="sm" c="dimmed">
                Change a setting and run the back-test to compare the number of calls and how soon failures are
                detected.
              </Text>
              <Command text={`mainspring backtest '${endpoint.name}' --every 30s`} />
            </Stack>
          )}
        </Card>
      </Grid.Col>
      {writing && <RuleForm of={endpoint} close={() => setWriting(false)} />}
    </Grid>
  );
}
