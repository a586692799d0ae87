/** What a tenant may use at most, and, where it may be changed too, its name. */
import { Button, Group, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { Dialog } from "../../parts/Dialog";
import { useAction } from "../../parts/useAction";
import { duration, parseDuration } from "../../words/duration";

export type Quotas = {
  runs_per_month: number | null;
  tokens_per_month: number | null;
  endpoints_max: number | null;
  interval_ms_min: number | null;
};
type Props = {
  title: string;
  quotas: Quotas;
  name?: string;
  save: (wanted: Quotas & { name?: string }) => Promise<unknown>;
  close: () => void;
};

export function QuotaForm({ title, quotas, name: named, save, close }: Props) {
  const [name, setName] = useState(named ?? "");
  const [runs, setRuns] = useState<string | number>(quotas.runs_per_month ?? "");
  const [endpoints, setEndpoints] = useState<string | number>(quotas.endpoints_max ?? "");
  const [tokens, setTokens] = useState<string | number>(quotas.tokens_per_month ?? "");
  const [interval, setInterval] = useState(quotas.interval_ms_min === null ? "" : duration(quotas.interval_ms_min));
  const number = (value: string | number) => (value === "" ? null : Number(value));
  const least = interval.trim() ? parseDuration(interval) : null;
  const isMistyped = interval.trim() !== "" && least === null;
  const act = useAction(
    () =>
      save({
        runs_per_month: number(runs),
        endpoints_max: number(endpoints),
        tokens_per_month: number(tokens),
        interval_ms_min: least,
        ...(named === undefined ? {} : { name }),
      }),
    { done: named === undefined ? "Quotas changed" : "Tenant changed", after: close, quiet: true },
  );
  const fault = act.error ? asProblem(act.error) : null;
  return (
    <Dialog onClose={close} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act.mutate(undefined);
        }}
      >
        <Stack>
          {named !== undefined && (
            <TextInput
              label="Name"
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fault?.of("name")}
            />
          )}
          <Text size="sm" c="dimmed">
            Leave a field empty for no limit.
          </Text>
          <NumberInput
            label="Runs per month"
            min={0}
            value={runs}
            onChange={setRuns}
            error={fault?.of("runs_per_month")}
            thousandSeparator=","
            data-autofocus
          />
          <NumberInput
            label="Endpoints"
            min={0}
            value={endpoints}
            onChange={setEndpoints}
            error={fault?.of("endpoints_max")}
            thousandSeparator=","
          />
          <NumberInput
            label="Model tokens per month"
            min={0}
            value={tokens}
            onChange={setTokens}
            error={fault?.of("tokens_per_month")}
            thousandSeparator=","
          />
          <TextInput
            label="Shortest interval"
            placeholder="10s"
            value={interval}
            onChange={(event) => setInterval(event.currentTarget.value)}
            error={isMistyped ? "Not a duration; use a value such as 10s or 5m" : fault?.of("interval_ms_min")}
          />
          {fault && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={act.isPending} disabled={isMistyped}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
