/**
 * Who is told when something breaks, recovers, is late or runs out; when they are left in peace; and a test of the
 * way.
 */
import {
  Badge,
  Alert as Box,
  Button,
  Card,
  Checkbox,
  Group,
  Menu,
  NumberInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Table,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { IconBell, IconChevronDown, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type Alert, alertActs, alertsQuery } from "../../api/notifications";
import { endpointQuery, jobsQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { EndpointPicker } from "../../parts/EndpointPicker";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { SubscriptionState } from "../../parts/SubscriptionState";
import { useAction } from "../../parts/useAction";
import { duration, took } from "../../words/duration";
import labels from "../../words/labels.json";
import { Deliveries } from "./Deliveries";

const KINDS = Object.entries(labels.alert_kinds);
type Asked = { what: "edit" | "test" | "deliveries" | "delete"; alert: Alert } | { what: "new" } | null;

export function Alerts() {
  const alerts = useQuery(alertsQuery);
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  const remove = useAction((id: string) => alertActs.remove(id), { done: "Alert deleted", after: close });
  if (alerts.error && !alerts.data) return <Failed fault={alerts.error} retry={() => void alerts.refetch()} />;
  if (!alerts.data) return <Pending />;
  const add = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAsked({ what: "new" })}>
      New alert
    </Button>
  );
  return (
    <Stack>
      {alerts.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            One message when a problem starts, one when it is resolved.
          </Text>
          {add}
        </Group>
      )}
      {!alerts.data.items.length ? (
        <Empty
          icon={IconBell}
          title="No alerts yet"
          action={add}
          command="mainspring alert add ops --to ops@example.com"
        >
          An alert sends an email or calls a URL when an endpoint breaks and when it recovers: once for each, not once a
          run.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Alert</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Events</Table.Th>
                <Table.Th>To</Table.Th>
                <Table.Th>Quiet hours</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {alerts.data.items.map((alert) => (
                <Row key={alert.id} alert={alert} ask={(what) => setAsked({ what, alert })} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {asked?.what === "new" && <AlertForm close={close} />}
      {asked?.what === "edit" && <AlertForm alert={asked.alert} close={close} />}
      {asked?.what === "test" && <TestAlert alert={asked.alert} close={close} />}
      {asked?.what === "deliveries" && (
        <Deliveries
          of={{ kind: "alert", id: asked.alert.id, name: asked.alert.name, enabled: asked.alert.enabled }}
          close={close}
        />
      )}
      {asked?.what === "delete" && (
        <Confirm
          opened
          onClose={close}
          title={`Delete ${asked.alert.name}?`}
          verb="Delete"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate(asked.alert.id)}
        >
          Its deliveries are deleted too. Pending messages are not sent.
        </Confirm>
      )}
    </Stack>
  );
}

function Row({ alert, ask }: { alert: Alert; ask: (what: "edit" | "test" | "deliveries" | "delete") => void }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const jobs = useQuery(jobsQuery);
  const able = useAction(() => alertActs.update(alert.id, { enabled: !alert.enabled }), {
    done: alert.enabled ? `${alert.name} is off` : `${alert.name} is on`,
  });
  const endpoint = useQuery({ ...endpointQuery(alert.endpoint_id ?? ""), enabled: !!alert.endpoint_id });
  const about = alert.endpoint_id
    ? (endpoint.data?.name ?? "one endpoint")
    : alert.job_id
      ? `job ${jobs.data?.items.find((job) => job.id === alert.job_id)?.name ?? ""}`
      : "every endpoint";
  return (
    <Table.Tr>
      <Table.Td className="stack-title">
        <div>
          <Text size="sm" fw={600} className="breaks">
            {alert.name}
          </Text>
          <Text size="xs" c="dimmed" className="breaks">
            {about}
            {alert.description && ` · ${alert.description}`}
          </Text>
        </div>
      </Table.Td>
      <Table.Td data-label="State">
        <SubscriptionState of={alert} />
      </Table.Td>
      <Table.Td data-label="Events">
        <Group gap={4}>
          {alert.kinds.map((kind) => (
            <Badge key={kind} color="gray" tt="none">
              {kind === "failing" ? `failing ×${alert.failures}` : kind.replace("_", " ")}
            </Badge>
          ))}
        </Group>
      </Table.Td>
      <Table.Td data-label="To" className="breaks" maw={240}>
        <div>
          {alert.to.map((each) => (
            <Text key={each} size="sm" className="breaks">
              {each}
            </Text>
          ))}
        </div>
      </Table.Td>
      <Table.Td data-label="Quiet hours">
        <div>
          {alert.quiet ? (
            <>
              <Text size="sm" className="nowrap">
                {alert.quiet} {alert.timezone}
              </Text>
              <Text size="xs" c="dimmed">
                {alert.during_quiet === "digest" ? "sent together afterwards" : "dropped"}
              </Text>
            </>
          ) : (
            <span className="quiet">none</span>
          )}
          {alert.cooldown_ms > 0 && (
            <Text size="xs" c="dimmed">
              at most once in {duration(alert.cooldown_ms)}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {mayRun && (
            <Button size="compact-sm" variant="default" onClick={() => ask("test")}>
              Test
            </Button>
          )}
          <Menu position="bottom-end">
            <Menu.Target>
              <Button
                size="compact-sm"
                variant="default"
                rightSection={<IconChevronDown size={14} />}
                aria-label={`More for ${alert.name}`}
              >
                More
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => ask("deliveries")}>Deliveries</Menu.Item>
              {mayWrite && <Menu.Item onClick={() => ask("edit")}>Edit</Menu.Item>}
              {mayWrite && (
                <Menu.Item onClick={() => able.mutate(undefined)}>{alert.enabled ? "Turn off" : "Turn on"}</Menu.Item>
              )}
              {mayWrite && (
                <Menu.Item color="red" onClick={() => ask("delete")}>
                  Delete…
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function TestAlert({ alert, close }: { alert: Alert; close: () => void }) {
  const test = useAction(() => alertActs.test(alert.id), { quiet: true });
  return (
    <Dialog onClose={close} title={`Test ${alert.name}`} size="lg">
      <Stack>
        <Text size="sm">A test message is sent now, even in quiet hours, to {alert.to.join(", ")}.</Text>
        {test.error ? <Failed fault={test.error} /> : null}
        {test.data?.ways.map((way) => (
          <Box
            key={way.to}
            color={way.ok ? "green" : "red"}
            role="status"
            title={`${way.to}: ${way.ok ? "delivered" : "not delivered"}`}
          >
            <Text size="sm" className="breaks">
              {way.error ?? `${way.status_code ? `Status ${way.status_code}, ` : ""}${took(way.duration_ms)}`}
            </Text>
          </Box>
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Close
          </Button>
          <Button loading={test.isPending} onClick={() => test.mutate(undefined)} data-autofocus>
            {test.data ? "Send again" : "Send test message"}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function draftOf(alert?: Alert) {
  return {
    name: alert?.name ?? "",
    to: alert?.to ?? [],
    kinds: alert?.kinds ?? ["failing", "recovered", "parked", "expiring"],
    failures: alert?.failures ?? 3,
    cooldown: alert ? duration(alert.cooldown_ms) : "0s",
    quiet: alert?.quiet ?? "",
    timezone: alert?.quiet ? alert.timezone : Intl.DateTimeFormat().resolvedOptions().timeZone,
    instead: alert?.during_quiet ?? "digest",
    job: alert?.job_id ?? "",
    endpoint: alert?.endpoint_id ?? "",
    description: alert?.description ?? "",
  };
}

function AlertForm({ alert, close }: { alert?: Alert; close: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(alert));
  const set = (change: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...change }));
  const jobs = useQuery(jobsQuery);
  const request = {
    name: draft.name,
    to: draft.to,
    kinds: draft.kinds as Alert["kinds"],
    failures: Number(draft.failures) || 0,
    cooldown: draft.cooldown.trim() || "0s",
    quiet: draft.quiet.trim(),
    timezone: draft.timezone,
    during_quiet: draft.instead,
    job: draft.job,
    endpoint: draft.endpoint,
    description: draft.description,
  };
  const save = useAction(() => (alert ? alertActs.update(alert.id, request) : alertActs.create(request)), {
    done: `${draft.name} ${alert ? "saved" : "created"}`,
    after: close,
    quiet: true,
  });
  const fault = save.error ? asProblem(save.error) : null;
  const text = (name: "name" | "cooldown" | "quiet" | "timezone") => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  return (
    <Dialog onClose={close} title={alert ? `Edit ${alert.name}` : "New alert"} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput label="Name" required {...text("name")} error={fault?.of("name")} data-autofocus />
          <TagsInput
            label="To"
            withAsterisk
            description="Email addresses or URLs; press Enter after each"
            value={draft.to}
            onChange={(to) => set({ to })}
            error={fault?.of("to") ?? fault?.of("url")}
            acceptValueOnBlur
            splitChars={[",", " "]}
            placeholder={draft.to.length ? "" : "ops@example.com"}
          />
          <Checkbox.Group
            label="Notify when"
            value={draft.kinds}
            onChange={(kinds) => set({ kinds: kinds as Alert["kinds"] })}
            error={fault?.of("kinds")}
          >
            <Stack gap={6} mt={6}>
              {KINDS.map(([kind, meaning]) => (
                <Checkbox key={kind} value={kind} label={meaning} />
              ))}
            </Stack>
          </Checkbox.Group>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <NumberInput
              label="Consecutive failures"
              min={1}
              value={draft.failures}
              onChange={(failures) => set({ failures: Number(failures) })}
              error={fault?.of("failures")}
            />
            <TextInput
              label="Cooldown"
              description="Per endpoint or subject; 0s sends every message"
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...text("cooldown")}
              error={fault?.of("cooldown")}
            />
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
            <TextInput
              label="Quiet hours"
              description="No alerts during these hours. Leave empty for none."
              placeholder="22:00-07:00"
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...text("quiet")}
              error={fault?.of("quiet")}
            />
            <TextInput
              label="Time zone"
              description="For quiet hours"
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...text("timezone")}
              error={fault?.of("timezone")}
              disabled={!draft.quiet}
            />
          </SimpleGrid>
          {draft.quiet && (
            <SegmentedControl
              value={draft.instead}
              onChange={(instead) => set({ instead: instead as "digest" })}
              data={[
                { value: "digest", label: "Send everything afterwards" },
                { value: "drop", label: "Drop messages" },
              ]}
              aria-label="During quiet hours"
            />
          )}
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
              {alert ? "Save" : "Create alert"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
