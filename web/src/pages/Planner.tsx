/** The planner: whether it acts, what it costs, what it did and would have done, and the rules it judges by. */
import { Badge, Card, Group, Progress, SimpleGrid, Stack, Tabs, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type PlannerStatus, plannerActs, plannerQuery } from "../api/planner";
import { useMay, useTenantName } from "../api/session";
import { AnchorLink } from "../parts/links";
import { ModeSwitch } from "../parts/ModeSwitch";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { TabRow, tabOf } from "../parts/TabRow";
import { dollars } from "../words/money";
import { Backtests } from "./planner/Backtests";
import { PlannerChanges } from "./planner/PlannerChanges";
import { Proposals } from "./planner/Proposals";
import { Rules } from "./planner/Rules";
import { Sessions } from "./planner/Sessions";
import { Shadow } from "./planner/Shadow";

const TABS: [string, string][] = [
  ["rules", "Rules"],
  ["proposals", "Proposals"],
  ["done", "Changes"],
  ["backtest", "Back-test"],
  ["sessions", "Sessions"],
  ["shadow", "Shadow results"],
];

export function Planner() {
  const status = useQuery(plannerQuery);
  const tab = tabOf(TABS, useSearch({ from: "/inside/planner" }).tab);
  const navigate = useNavigate();
  if (status.error && !status.data)
    return (
      <Page title="Planner">
        <Failed fault={status.error} retry={() => void status.refetch()} />
      </Page>
    );
  if (!status.data) return <PendingPage />;
  return (
    <Page
      title="Planner"
      about="The planner adjusts schedules based on responses, using rules and, if configured, a language model."
    >
      <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="md">
        <Modes status={status.data} />
        <Spend status={status.data} />
        <Judges status={status.data} />
      </SimpleGrid>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(name) => void navigate({ to: "/planner", search: { tab: name ?? undefined } })}
      >
        <TabRow tabs={TABS} chosen={tab} />
        <Tabs.Panel value="rules">
          <Rules />
        </Tabs.Panel>
        <Tabs.Panel value="proposals">
          <Proposals />
        </Tabs.Panel>
        <Tabs.Panel value="done">
          <PlannerChanges />
        </Tabs.Panel>
        <Tabs.Panel value="backtest">
          <Backtests />
        </Tabs.Panel>
        <Tabs.Panel value="sessions">
          <Sessions status={status.data} />
        </Tabs.Panel>
        <Tabs.Panel value="shadow">
          <Shadow />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Modes({ status }: { status: PlannerStatus }) {
  const mayWrite = useMay("write");
  const tenantName = useTenantName();
  const { all, tenant, endpoints } = status.modes;
  return (
    <Card>
      <Title order={2} mb="sm">
        Mode
      </Title>
      <ModeSwitch
        mode={tenant}
        set={plannerActs.setMode}
        done="Planner mode changed"
        label="Planner mode"
        mayChange={mayWrite}
        askBeforeOff={tenantName ? `the tenant ${tenantName}` : "all endpoints"}
      />
      {all !== "live" && (
        <Text size="sm" c="orange" mt="xs">
          The whole installation is set to {all}; the stricter of the two holds.
        </Text>
      )}
      {status.proposals_pending > 0 && (
        <AnchorLink to="/planner" search={{ tab: "proposals" }} size="sm" mt="xs" display="block">
          {status.proposals_pending === 1 ? "1 proposal waits" : `${status.proposals_pending} proposals wait`} for a
          decision
        </AnchorLink>
      )}
      {endpoints.length > 0 && (
        <Group gap={6} mt="sm">
          <Text size="xs" c="dimmed">
            Otherwise:
          </Text>
          {endpoints.slice(0, 8).map((each) => (
            <AnchorLink
              key={each.endpoint_id}
              to="/endpoints/$endpoint"
              params={{ endpoint: each.endpoint_id }}
              size="xs"
              className="breaks"
            >
              {each.endpoint} is {each.mode}
            </AnchorLink>
          ))}
          {endpoints.length > 8 && (
            <Text size="xs" c="dimmed">
              and {endpoints.length - 8} more
            </Text>
          )}
        </Group>
      )}
    </Card>
  );
}

function Spend({ status }: { status: PlannerStatus }) {
  const { spend } = status;
  const share = spend.tokens_max ? Math.min(100, (spend.tokens / spend.tokens_max) * 100) : 0;
  return (
    <Card>
      <Title order={2} mb="sm">
        Spent in {monthWords(spend.month)}
      </Title>
      <Text fz={26} fw={650} lh={1.2} className="tabular">
        {dollars(spend.cost_usd)}
      </Text>
      <Text size="sm" c="dimmed" mt={4} className="tabular">
        {spend.tokens.toLocaleString()} tokens
        {spend.tokens_max === null ? "" : ` of ${spend.tokens_max.toLocaleString()}`} in{" "}
        {spend.sessions === 1 ? "1 session" : `${spend.sessions.toLocaleString()} sessions`}
      </Text>
      {spend.tokens_max !== null && (
        <Progress
          value={share}
          mt="xs"
          color={share >= 100 ? "red" : share > 80 ? "orange" : "cyan"}
          aria-label="Tokens used"
        />
      )}
    </Card>
  );
}

const monthWords = (month: string): string =>
  new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en", { month: "long", year: "numeric", timeZone: "UTC" });

function Judges({ status }: { status: PlannerStatus }) {
  return (
    <Card>
      <Title order={2} mb="sm">
        Rules and model
      </Title>
      <Stack gap={6}>
        <Group justify="space-between">
          <Text size="sm">Rules</Text>
          <Group gap={6}>
            {status.rules_with_faults > 0 && (
              <Badge color="red" tt="none">
                {status.rules_with_faults} with errors
              </Badge>
            )}
            <Text size="sm" className="tabular">
              {status.rules.toLocaleString()}
            </Text>
          </Group>
        </Group>
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm">Model</Text>
          <Text size="sm" className="mono breaks">
            {status.model ?? "none"}
          </Text>
        </Group>
      </Stack>
    </Card>
  );
}
