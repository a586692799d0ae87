/** Call an endpoint once, outside its schedule, and look at what came back. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { acts } from "../../api/actions";
import type { BodyShown, Endpoint, Phases, RunInFull } from "../../api/types";
import { BodyViewer } from "../../parts/BodyViewer";
import { Dialog } from "../../parts/Dialog";
import { ButtonLink } from "../../parts/links";
import { Failed } from "../../parts/Outcomes";
import { RunStatus } from "../../parts/Status";
import { useAction } from "../../parts/useAction";
import { Waterfall } from "../../parts/Waterfall";
import { took } from "../../words/duration";

export type Outcome = {
  status: string;
  status_code: number | null;
  error: string | null;
  duration_ms: number | null;
  address: string | null;
  address_verdict?: string;
  phases: Phases | null;
  body: BodyShown | null;
};

export function CallOutcome({ outcome }: { outcome: Outcome }) {
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <RunStatus status={outcome.status} code={outcome.status_code} />
        <Text size="sm">{took(outcome.duration_ms)}</Text>
        <Text size="sm" c="dimmed">
          {outcome.address ? (
            <>
              at <span className="mono">{outcome.address}</span>
            </>
          ) : (
            "no address reached"
          )}
          {outcome.address_verdict && outcome.address_verdict !== "not reached" ? `, ${outcome.address_verdict}` : ""}
        </Text>
      </Group>
      {outcome.error && (
        <Text size="sm" c="red" className="breaks">
          {outcome.error}
        </Text>
      )}
      {outcome.phases && <Waterfall phases={outcome.phases} />}
      {outcome.body && <BodyViewer body={outcome.body} />}
    </Stack>
  );
}

export function TestCall({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const test = useAction(() => acts.test(endpoint.id), { quiet: true });
  const run = test.data as RunInFull | undefined;
  return (
    <Dialog onClose={close} title={`Test call to ${endpoint.name}`} size="lg">
      <Stack>
        <Text size="sm" className="breaks">
          The server calls <span className="mono">{endpoint.target}</span> once. The call is recorded as a test and does
          not change the schedule.
        </Text>
        {test.error ? <Failed fault={test.error} /> : null}
        {run && <CallOutcome outcome={run} />}
        <Group justify="flex-end">
          {run && (
            <ButtonLink variant="default" to="/runs/$run" params={{ run: run.id }}>
              Open run
            </ButtonLink>
          )}
          <Button loading={test.isPending} onClick={() => test.mutate(undefined)} data-autofocus>
            {run ? "Send again" : "Send test call"}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
