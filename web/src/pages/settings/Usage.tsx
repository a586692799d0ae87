import { Button, Card, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { plannerQuery } from "../../api/planner";
import { useSession } from "../../api/session";
import { Failed, Pending } from "../../parts/Outcomes";
import { duration } from "../../words/duration";
import { QuotaForm } from "./QuotaForm";

export function Usage() {
  const usage = useQuery({ queryKey: ["settings", "usage"], queryFn: () => data(api.GET("/api/v1/usage")) });
  const planner = useQuery(plannerQuery);
  const { operator } = useSession();
  const [editing, setEditing] = useState(false);
  if (usage.error) return <Failed fault={usage.error} retry={() => void usage.refetch()} />;
  if (!usage.data) return <Pending />;
  const { quotas } = usage.data;
  return (
    <Card maw={640}>
      <Group justify="space-between" mb="sm">
        <Title order={2}>This month</Title>
        {operator && (
          <Button size="xs" variant="default" onClick={() => setEditing(true)}>
            Edit quotas
          </Button>
        )}
      </Group>
      <Stack>
        <Meter label="Runs" used={usage.data.runs_this_month} of={quotas.runs_per_month} />
        <Meter label="Endpoints" used={usage.data.endpoints} of={quotas.endpoints_max} />
        <Meter label="Model tokens" used={planner.data?.spend.tokens ?? 0} of={quotas.tokens_per_month} />
        <Group justify="space-between">
          <Text size="sm">Shortest interval</Text>
          <Text size="sm" className="tabular">
            {quotas.interval_ms_min === null ? "(no limit)" : duration(quotas.interval_ms_min)}
          </Text>
        </Group>
      </Stack>
      {editing && (
        <QuotaForm
          title="Quotas"
          quotas={quotas}
          save={(wanted) => data(api.PATCH("/api/v1/quotas", { body: wanted }))}
          close={() => setEditing(false)}
        />
      )}
    </Card>
  );
}

function Meter({ label, used, of }: { label: string; used: number; of: number | null }) {
  const share = of ? Math.min(100, (used / of) * 100) : 0;
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm" className="tabular">
          {used.toLocaleString()} {of === null ? "(no limit)" : `of ${of.toLocaleString()}`}
        </Text>
      </Group>
      {of !== null && (
        <Progress
          value={share}
          color={share >= 100 ? "red" : share > 80 ? "orange" : "cyan"}
          aria-label={`${label} used`}
        />
      )}
    </div>
  );
}
