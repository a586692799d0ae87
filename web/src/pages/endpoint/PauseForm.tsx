import { Button, Checkbox, Group, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { acts, type Pause } from "../../api/actions";
import { asProblem } from "../../api/client";
import type { Endpoint } from "../../api/types";
import { Dialog } from "../../parts/Dialog";
import { useAction } from "../../parts/useAction";

const OWN = "own";
const SPANS = [
  { value: "", label: "until resumed" },
  { value: "15m", label: "15 minutes" },
  { value: "1h", label: "1 hour" },
  { value: "8h", label: "8 hours" },
  { value: "1d", label: "1 day" },
  { value: "7d", label: "7 days" },
  { value: OWN, label: "until a date and time" },
];

type End = Pick<Pause, "duration" | "until">;

/** How long a pause lasts: for a while, until an instant of one's own, or without an end. */
export function PauseEnd({ set, error }: { set: (end: End) => void; error?: string | undefined }) {
  const [kind, setKind] = useState("");
  const choose = (value: string) => {
    setKind(value);
    set(value && value !== OWN ? { duration: value } : {});
  };
  return (
    <>
      <Select
        label="Duration"
        data={SPANS}
        value={kind}
        onChange={(value) => choose(value ?? "")}
        allowDeselect={false}
        maxDropdownHeight={300}
        error={kind === OWN ? undefined : error}
      />
      {kind === OWN && (
        <TextInput
          label="Until"
          description="In your local time"
          type="datetime-local"
          required
          onChange={({ currentTarget: { value } }) => set(value ? { until: new Date(value).toISOString() } : {})}
          error={error}
        />
      )}
    </>
  );
}

export function PauseForm({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const [end, setEnd] = useState<End>({});
  const [reason, setReason] = useState("");
  const [mayResume, setMayResume] = useState(false);
  const pause = useAction(() => acts.pause(endpoint.id, { reason, advice_may_resume: mayResume, ...end }), {
    done: `${endpoint.name} is paused`,
    after: close,
    quiet: true,
  });
  const fault = pause.error ? asProblem(pause.error) : null;
  return (
    <Dialog onClose={close} title={`Pause ${endpoint.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pause.mutate(undefined);
        }}
      >
        <Stack>
          <PauseEnd set={setEnd} error={fault && !fault.of("reason") ? fault.message : undefined} />
          <TextInput
            label="Reason"
            description="Shown to everyone who opens this endpoint."
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            error={fault?.of("reason")}
            data-autofocus
          />
          <Checkbox
            label="Rules and the model may resume it"
            description="Rules, workflows and the model may end this pause. Otherwise only a user can."
            checked={mayResume}
            onChange={(event) => setMayResume(event.currentTarget.checked)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={pause.isPending}>
              Pause
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
