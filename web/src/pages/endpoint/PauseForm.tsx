import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { acts } from "../../api/acts";
import { asProblem } from "../../api/client";
import type { Endpoint } from "../../api/types";
import { useAct } from "../../parts/useAct";
import { Dialog } from "../../parts/Dialog";

export const SPANS = [{ value: "", label: "until it is resumed" }, { value: "15m", label: "15 minutes" }, { value: "1h", label: "1 hour" }, { value: "8h", label: "8 hours" }, { value: "1d", label: "1 day" }, { value: "7d", label: "7 days" }];

export function PauseForm({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const [forMs, setForMs] = useState("");
  const [reason, setReason] = useState("");
  const pause = useAct(() => acts.pause(endpoint.id, { reason, ...(forMs ? { for_ms: forMs } : {}) }), { done: `${endpoint.name} is paused`, after: close, quiet: true });
  return (
    <Dialog onClose={close} title={`Pause ${endpoint.name}`}>
      <form onSubmit={(event) => { event.preventDefault(); pause.mutate(undefined); }}>
        <Stack>
          <Select label="For how long" data={SPANS} value={forMs} onChange={(value) => setForMs(value ?? "")} allowDeselect={false} />
          <TextInput label="Reason" description="Whoever wonders later reads it." value={reason} onChange={(event) => setReason(event.currentTarget.value)} error={pause.error ? asProblem(pause.error).message : undefined} data-autofocus />
          <Group justify="flex-end"><Button variant="default" onClick={close}>Cancel</Button><Button type="submit" loading={pause.isPending}>Pause</Button></Group>
        </Stack>
      </form>
    </Dialog>
  );
}
