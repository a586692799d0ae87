/** Hints in force, with author, reason and countdown; new ones; and the way back to the baseline. */
import { Badge, Button, Card, Group, SegmentedControl, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { acts } from "../../api/actions";
import { asProblem } from "../../api/client";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Dialog } from "../../parts/Dialog";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { actorWords } from "../../words/actor";
import { duration } from "../../words/duration";

export function Hints({ endpoint }: { endpoint: Endpoint }) {
  const mayRun = useMay("run") && endpoint.status !== "archived";
  const [adding, setAdding] = useState(false);
  const clear = useAction(() => acts.clearHints(endpoint.id), { done: "Hints cleared" });
  const { interval_hint: every, one_shot_hint: once } = endpoint;
  return (
    <Card>
      <Group justify="space-between" mb="xs">
        <Title order={2}>Hints</Title>
        {mayRun && (
          <Group gap="xs">
            {(every || once) && (
              <Button
                size="compact-sm"
                variant="default"
                loading={clear.isPending}
                onClick={() => clear.mutate(undefined)}
              >
                Clear hints
              </Button>
            )}
            <Button size="compact-sm" variant="default" onClick={() => setAdding(true)}>
              Add hint
            </Button>
          </Group>
        )}
      </Group>
      {!every && !once && (
        <Text size="sm" c="dimmed">
          No hints. A hint temporarily changes when this endpoint runs.
        </Text>
      )}
      <Stack gap="xs">
        {every && (
          <Hint
            what={`every ${duration(every.interval_ms)}`}
            until={every.expires_at}
            author={every.author}
            reason={every.reason}
          />
        )}
        {once && (
          <Hint
            what={
              <>
                once, <When at={once.next_run_at} />
              </>
            }
            until={once.expires_at}
            author={once.author}
            reason={once.reason}
          />
        )}
      </Stack>
      {adding && <HintForm endpoint={endpoint} close={() => setAdding(false)} />}
    </Card>
  );
}

function Hint({
  what,
  until,
  author,
  reason,
}: {
  what: React.ReactNode;
  until: string;
  author: string;
  reason: string;
}) {
  return (
    <div>
      <Group gap="xs">
        <Badge color="cyan" tt="none">
          {what}
        </Badge>
        <Text size="sm" component="span">
          ends <When at={until} />
        </Text>
      </Group>
      <Text size="xs" c="dimmed" className="breaks">
        by {actorWords(author)}
        {reason && `: ${reason}`}
      </Text>
    </div>
  );
}

function HintForm({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const [kind, setKind] = useState("interval");
  const [every, setEvery] = useState("30s");
  const [ttl, setTtl] = useState("1h");
  const [soon, setSoon] = useState("30s");
  const [reason, setReason] = useState("");
  const save = useAction(
    () =>
      kind === "interval"
        ? acts.hintInterval(endpoint.id, { every, ttl, reason })
        : acts.hintOnce(endpoint.id, { after: soon, reason }),
    { done: "Hint added", after: close, quiet: true },
  );
  const fault = save.error ? asProblem(save.error) : null;
  return (
    <Dialog onClose={close} title={`A hint for ${endpoint.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <SegmentedControl
            value={kind}
            onChange={setKind}
            data={[
              { value: "interval", label: "Interval" },
              { value: "once", label: "One extra run" },
            ]}
            aria-label="Hint type"
          />
          {kind === "interval" ? (
            <Group grow align="flex-start">
              <TextInput
                label="Run every"
                value={every}
                onChange={(event) => setEvery(event.currentTarget.value)}
                error={fault?.of("every")}
                data-autofocus
              />
              <TextInput
                label="Duration"
                value={ttl}
                onChange={(event) => setTtl(event.currentTarget.value)}
                error={fault?.of("ttl")}
              />
            </Group>
          ) : (
            <TextInput
              label="Run in"
              value={soon}
              onChange={(event) => setSoon(event.currentTarget.value)}
              error={fault?.of("after")}
            />
          )}
          <TextInput
            label="Reason"
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            error={fault?.of("reason")}
          />
          {fault && !fault.faults.some((each) => each.pointer) && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save hint
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
