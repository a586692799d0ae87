/** What the planner has to do with an endpoint: its rules, what a model said of it, and the switch that stops both. */
import { Button, Card, Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { plannerActs, plannerQuery, type Rule, rulesQuery, sessionsQuery } from "../../api/planner";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { AnchorLink } from "../../parts/links";
import { ModeSwitch } from "../../parts/ModeSwitch";
import { Failed } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { DraftForm } from "../planner/DraftForm";
import { RuleForm } from "../planner/RuleForm";
import { RuleTable } from "../planner/Rules";
import { SessionTable } from "../planner/Sessions";

const LISTED = 5;

export function RulesCard({ endpoint }: { endpoint: Endpoint }) {
  const mayWrite = useMay("write");
  const rules = useInfiniteQuery(rulesQuery({ endpoint: endpoint.id }));
  const status = useQuery(plannerQuery);
  const [editing, setEditing] = useState<Rule | "new" | "draft" | null>(null);
  const items = rules.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card padding={0} pb={items.length ? 0 : "md"}>
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2}>Rules</Title>
        {mayWrite && (
          <Group gap="xs">
            <AnchorLink to="/planner" search={{ tab: "backtest", endpoint: endpoint.id }} size="sm">
              Back-test
            </AnchorLink>
            {status.data?.model && (
              <Button size="compact-sm" variant="default" onClick={() => setEditing("draft")}>
                Draft with model
              </Button>
            )}
            <Button size="compact-sm" variant="default" onClick={() => setEditing("new")}>
              Add rule
            </Button>
          </Group>
        )}
      </Group>
      {rules.error ? <Failed fault={rules.error} retry={() => void rules.refetch()} /> : null}
      {rules.data && !items.length && (
        <Text size="sm" c="dimmed" px="md">
          No rules. A rule changes the schedule when a response meets a condition.
        </Text>
      )}
      {items.length > 0 && <RuleTable rules={items} edit={setEditing} />}
      {editing === "draft" && <DraftForm of={endpoint} close={() => setEditing(null)} />}
      {editing && editing !== "draft" && (
        <RuleForm {...(editing === "new" ? { of: endpoint } : { rule: editing })} close={() => setEditing(null)} />
      )}
    </Card>
  );
}

export function PlannerCard({ endpoint }: { endpoint: Endpoint }) {
  const mayWrite = useMay("write");
  const status = useQuery(plannerQuery);
  const mode = status.data?.modes.endpoints.find((each) => each.endpoint_id === endpoint.id)?.mode ?? "live";
  const wider = [status.data?.modes.tenant, status.data?.modes.all].find((each) => each && each !== "live");
  return (
    <Card>
      <Title order={2} mb="sm">
        Planner
      </Title>
      {status.error ? <Failed fault={status.error} retry={() => void status.refetch()} /> : null}
      <ModeSwitch
        mode={mode}
        set={(wanted, undo) => plannerActs.setEndpointMode(endpoint.id, wanted, undo)}
        done="Planner mode changed for this endpoint"
        label="Planner mode for this endpoint"
        mayChange={mayWrite}
        disabled={!status.data}
      />
      {wider && (
        <Text size="sm" c="orange" mt="xs">
          The planner as a whole is set to {wider}; the stricter of the two holds.
        </Text>
      )}
    </Card>
  );
}

/** Only where a model is set, or was: without one there is nothing to say. */
export function SessionsCard({ endpoint }: { endpoint: Endpoint }) {
  const mayRun = useMay("run");
  const navigate = useNavigate();
  const status = useQuery(plannerQuery);
  const sessions = useInfiniteQuery(sessionsQuery({ endpoint: endpoint.id }, LISTED));
  const look = useAction(() => plannerActs.look(endpoint.id), {
    after: (session) => void navigate({ to: "/planner/sessions/$session", params: { session: session.id } }),
  });
  const items = sessions.data?.pages[0]?.items ?? [];
  if (!items.length && !status.data?.model) return null;
  return (
    <Card padding={0} pb={items.length ? 0 : "md"}>
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2}>Model sessions</Title>
        {mayRun && status.data?.model && (
          <Button size="compact-sm" variant="default" loading={look.isPending} onClick={() => look.mutate(undefined)}>
            Analyze now
          </Button>
        )}
      </Group>
      {items.length ? (
        <SessionTable sessions={items} hideEndpoint />
      ) : (
        <Text size="sm" c="dimmed" px="md">
          The model has not analyzed this endpoint yet.
        </Text>
      )}
    </Card>
  );
}
