/** Maintenance windows: when runs are skipped or not counted, and alerts are silent. */
import {
  Badge,
  Button,
  Card,
  Group,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconTool } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type MaintenanceWindow, maintenanceActs, maintenanceQuery } from "../../api/maintenance";
import { endpointQuery, jobsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { EndpointPicker } from "../../parts/EndpointPicker";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { duration } from "../../words/duration";
import { COLOR } from "../../words/state";

type Asked = { what: "edit" | "delete"; window: MaintenanceWindow } | { what: "new" } | null;
const TONES = { open: "warn", upcoming: "calm", over: "idle" } as const;

export function Maintenance() {
  const windows = useQuery(maintenanceQuery);
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  const remove = useAction((id: string) => maintenanceActs.remove(id), {
    done: "Maintenance window deleted",
    after: close,
  });
  if (windows.error && !windows.data) return <Failed fault={windows.error} retry={() => void windows.refetch()} />;
  if (!windows.data) return <Pending />;
  const add = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAsked({ what: "new" })}>
      New maintenance window
    </Button>
  );
  return (
    <Stack>
      {windows.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            While a window is open, failures are not counted and alerts are silent.
          </Text>
          {add}
        </Group>
      )}
      {!windows.data.items.length ? (
        <Empty
          icon={IconTool}
          title="No maintenance windows yet"
          action={add}
          command="mainspring maintenance add patch-night --cron '0 2 * * SUN' --duration 2h"
        >
          A maintenance window is a planned time in which targets may be down: runs are skipped or not counted, and
          alerts are silent.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Window</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Time</Table.Th>
                <Table.Th>Runs</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {windows.data.items.map((window) => (
                <Row key={window.id} window={window} ask={(what) => setAsked({ what, window })} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {asked?.what === "new" && <WindowForm close={close} />}
      {asked?.what === "edit" && <WindowForm window={asked.window} close={close} />}
      {asked?.what === "delete" && (
        <Confirm
          opened
          onClose={close}
          title={`Delete ${asked.window.name}?`}
          verb="Delete"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate(asked.window.id)}
        >
          Runs that the window moved are planned again.
        </Confirm>
      )}
    </Stack>
  );
}

function Row({ window, ask }: { window: MaintenanceWindow; ask: (what: "edit" | "delete") => void }) {
  const mayWrite = useMay("write");
  const jobs = useQuery(jobsQuery);
  const endpoint = useQuery({ ...endpointQuery(window.endpoint_id ?? ""), enabled: !!window.endpoint_id });
  const about = window.endpoint_id
    ? (endpoint.data?.name ?? "one endpoint")
    : window.job_id
      ? `job ${jobs.data?.items.find((job) => job.id === window.job_id)?.name ?? ""}`
      : "every endpoint";
  return (
    <Table.Tr>
      <Table.Td className="stack-title title-cell">
        <div>
          <Text size="sm" fw={600} className="breaks">
            {window.name}
          </Text>
          <Text size="xs" c="dimmed" className="breaks">
            {about}
            {window.description && ` · ${window.description}`}
          </Text>
        </div>
      </Table.Td>
      <Table.Td data-label="State">
        <Badge color={COLOR[TONES[window.state]]} tt="none">
          {window.state}
        </Badge>
      </Table.Td>
      <Table.Td data-label="Time" className="words-cell">
        <div>
          {window.state === "upcoming" && (
            <div>
              opens <When at={window.opens_at} />
            </div>
          )}
          <div>
            {window.state === "over" ? "closed" : "closes"} <When at={window.closes_at} />
          </div>
          {window.cron && (
            <Text size="xs" c="dimmed" className="breaks">
              {window.cron} {window.timezone}, {duration(window.duration_ms ?? 0)}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td data-label="Runs">{window.runs === "skip" ? "skipped" : "continue"}</Table.Td>
      <Table.Td>
        {mayWrite && (
          <Group gap={6}>
            <Button size="compact-sm" variant="default" onClick={() => ask("edit")} aria-label={`Edit ${window.name}`}>
              Edit
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => ask("delete")}
              aria-label={`Delete ${window.name}`}
            >
              Delete…
            </Button>
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function draftOf(window?: MaintenanceWindow) {
  return {
    name: window?.name ?? "",
    kind: window?.starts_at ? "once" : "cron",
    cron: window?.cron ?? "",
    duration: window?.duration_ms ? duration(window.duration_ms) : "1h",
    timezone: window?.cron ? window.timezone : Intl.DateTimeFormat().resolvedOptions().timeZone,
    start: window?.starts_at ?? "",
    end: window?.ends_at ?? "",
    runs: window?.runs ?? ("skip" as const),
    job: window?.job_id ?? "",
    endpoint: window?.endpoint_id ?? "",
    description: window?.description ?? "",
  };
}

function WindowForm({ window, close }: { window?: MaintenanceWindow; close: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(window));
  const set = (change: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...change }));
  const jobs = useQuery(jobsQuery);
  const when =
    draft.kind === "cron"
      ? { cron: draft.cron, duration: draft.duration, timezone: draft.timezone }
      : { start: draft.start, end: draft.end };
  const request = {
    name: draft.name,
    ...when,
    runs: draft.runs,
    job: draft.job,
    endpoint: draft.endpoint,
    description: draft.description,
  };
  const save = useAction(
    () => (window ? maintenanceActs.update(window.id, request) : maintenanceActs.create(request)),
    { done: `${draft.name} ${window ? "saved" : "created"}`, after: close, quiet: true },
  );
  const fault = save.error ? asProblem(save.error) : null;
  const text = (name: "name" | "cron" | "duration" | "timezone" | "start" | "end" | "description") => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
    error: fault?.of(name),
  });
  return (
    <Dialog onClose={close} title={window ? `Edit ${window.name}` : "New maintenance window"} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput label="Name" required {...text("name")} data-autofocus />
          <SegmentedControl
            value={draft.kind}
            onChange={(kind) => set({ kind })}
            data={[
              { value: "cron", label: "Recurring" },
              { value: "once", label: "Once" },
            ]}
            aria-label="How often the window opens"
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            {draft.kind === "cron" ? (
              <>
                <TextInput label="Cron" required placeholder="0 2 * * SUN" {...text("cron")} />
                <TextInput label="Duration" required placeholder="2h" {...text("duration")} />
                <TextInput label="Time zone" required {...text("timezone")} />
              </>
            ) : (
              <>
                <TextInput label="Start" required placeholder="2030-01-31T22:00:00Z" {...text("start")} />
                <TextInput label="End" required placeholder="2030-02-01T02:00:00Z" {...text("end")} />
              </>
            )}
            <Select
              label="Job"
              placeholder="every job"
              clearable
              data={(jobs.data?.items ?? []).map((job) => ({ value: job.id, label: job.name }))}
              value={draft.job || null}
              onChange={(job) => set({ job: job ?? "" })}
              error={fault?.of("job")}
            />
            <EndpointPicker
              label="Endpoint"
              placeholder="every endpoint"
              clearable
              value={draft.endpoint || null}
              set={(endpoint) => set({ endpoint: endpoint ?? "" })}
              error={fault?.of("endpoint")}
            />
          </SimpleGrid>
          <SegmentedControl
            value={draft.runs}
            onChange={(runs) => set({ runs: runs as "skip" })}
            data={[
              { value: "skip", label: "Skip runs" },
              { value: "continue", label: "Continue runs" },
            ]}
            aria-label="Runs of the schedule in the window"
          />
          <TextInput label="Description" {...text("description")} />
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
              {window ? "Save" : "Create maintenance window"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
