import { Button, Card, Group, NumberInput, Progress, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { plannerQuery } from "../../api/planner";
import { useSession } from "../../api/session";
import { Dialog } from "../../parts/Dialog";
import { Failed, Pending } from "../../parts/Outcomes";
import { useAct } from "../../parts/useAct";
import { duration } from "../../words/duration";

type Quotas = { runs_per_month: number | null; tokens_per_month: number | null; endpoints_max: number | null; interval_ms_min: number | null };

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
      <Group justify="space-between" mb="sm"><Title order={2}>This month</Title>{operator && <Button size="xs" variant="default" onClick={() => setEditing(true)}>Change the quotas</Button>}</Group>
      <Stack>
        <Meter label="Runs" used={usage.data.runs_this_month} of={quotas.runs_per_month} />
        <Meter label="Endpoints" used={usage.data.endpoints} of={quotas.endpoints_max} />
        <Meter label="Model tokens" used={planner.data?.spend.tokens ?? 0} of={quotas.tokens_per_month} />
        <Group justify="space-between"><Text size="sm">Shortest interval</Text><Text size="sm" className="tabular">{quotas.interval_ms_min === null ? "(no limit)" : duration(quotas.interval_ms_min)}</Text></Group>
      </Stack>
      {editing && <QuotaForm quotas={quotas} close={() => setEditing(false)} />}
    </Card>
  );
}

function Meter({ label, used, of }: { label: string; used: number; of: number | null }) {
  const share = of ? Math.min(100, (used / of) * 100) : 0;
  return (
    <div>
      <Group justify="space-between"><Text size="sm">{label}</Text><Text size="sm" className="tabular">{used.toLocaleString()} {of === null ? "(no limit)" : `of ${of.toLocaleString()}`}</Text></Group>
      {of !== null && <Progress value={share} color={share >= 100 ? "red" : share > 80 ? "orange" : "cyan"} aria-label={`${label} used`} />}
    </div>
  );
}

function QuotaForm({ quotas, close }: { quotas: Quotas; close: () => void }) {
  const [runs, setRuns] = useState<string | number>(quotas.runs_per_month ?? "");
  const [endpoints, setEndpoints] = useState<string | number>(quotas.endpoints_max ?? "");
  const [tokens, setTokens] = useState<string | number>(quotas.tokens_per_month ?? "");
  const [interval, setInterval] = useState(quotas.interval_ms_min === null ? "" : duration(quotas.interval_ms_min));
  const number = (value: string | number) => (value === "" ? null : Number(value));
  const body = { runs_per_month: number(runs), endpoints_max: number(endpoints), tokens_per_month: number(tokens), interval_ms_min: interval.trim() || null };
  const save = useAct(() => data(api.PATCH("/api/v1/quotas", { body: body as never })), { done: "The quotas are changed", after: close, quiet: true });
  const fault = save.error ? asProblem(save.error) : null;
  return (
    <Dialog onClose={close} title="Quotas">
      <form onSubmit={(event) => { event.preventDefault(); save.mutate(undefined); }}>
        <Stack>
          <Text size="sm" c="dimmed">Empty is no limit.</Text>
          <NumberInput label="Runs a month" min={0} value={runs} onChange={setRuns} error={fault?.of("runs_per_month")} thousandSeparator="," data-autofocus />
          <NumberInput label="Endpoints" min={0} value={endpoints} onChange={setEndpoints} error={fault?.of("endpoints_max")} />
          <NumberInput label="Model tokens a month" min={0} value={tokens} onChange={setTokens} error={fault?.of("tokens_per_month")} thousandSeparator="," />
          <TextInput label="Shortest interval" placeholder="10s" value={interval} onChange={(event) => setInterval(event.currentTarget.value)} error={fault?.of("interval_ms_min")} />
          {fault && <Text size="sm" c="red" role="alert">{fault.message}</Text>}
          <Group justify="flex-end"><Button variant="default" onClick={close}>Cancel</Button><Button type="submit" loading={save.isPending}>Save</Button></Group>
        </Stack>
      </form>
    </Dialog>
  );
}
