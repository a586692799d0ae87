/** Programs that are told what happens: where to, which events, how delivery goes, and every message that was sent. */
import {
  Badge,
  Alert as Box,
  Button,
  Card,
  Group,
  Menu,
  Stack,
  Table,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { IconChevronDown, IconPlus, IconWebhook } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type Webhook, webhookActs, webhooksQuery } from "../../api/notifications";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { ConnectionInput } from "../../parts/ConnectionInput";
import { Dialog } from "../../parts/Dialog";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { SubscriptionState } from "../../parts/SubscriptionState";
import { useAction } from "../../parts/useAction";
import { took } from "../../words/duration";
import { Deliveries } from "./Deliveries";

const SUGGESTED = [
  "run.*",
  "run.finished",
  "endpoint.*",
  "endpoint.parked",
  "hint.*",
  "job.*",
  "schedule.late",
  "schedule.waiting",
  "backoff.applied",
  "quota.deferred",
];
type Asked = { what: "edit" | "test" | "deliveries" | "delete" | "secret"; webhook: Webhook } | { what: "new" } | null;

export function Webhooks() {
  const webhooks = useQuery(webhooksQuery);
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<Asked>(null);
  const [secret, setSecret] = useState("");
  const close = () => setAsked(null);
  const remove = useAction((id: string) => webhookActs.remove(id), { done: "Webhook deleted", after: close });
  const renew = useAction((id: string) => webhookActs.update(id, { new_secret: true }), {
    after: (made) => {
      setSecret(made.secret ?? "");
      close();
    },
  });
  if (webhooks.error && !webhooks.data) return <Failed fault={webhooks.error} retry={() => void webhooks.refetch()} />;
  if (!webhooks.data) return <Pending />;
  const add = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAsked({ what: "new" })}>
      New webhook
    </Button>
  );
  return (
    <Stack>
      {webhooks.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            Each event is sent as a signed POST request, retried for 24 hours until accepted.
          </Text>
          {add}
        </Group>
      )}
      {secret && (
        <ShownOnce what="Secret" secret={secret}>
          Receivers use it to verify the header <span className="mono">webhook-signature</span>, as specified by
          Standard Webhooks.
        </ShownOnce>
      )}
      {!webhooks.data.items.length ? (
        <Empty
          icon={IconWebhook}
          title="No webhooks yet"
          action={add}
          command="mainspring webhook add https://example.com/hook --type 'run.*'"
        >
          A webhook sends events to your program as they happen.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Webhook</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Events</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {webhooks.data.items.map((webhook) => (
                <Row key={webhook.id} webhook={webhook} ask={(what) => setAsked({ what, webhook })} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {asked?.what === "new" && <WebhookForm close={close} made={setSecret} />}
      {asked?.what === "edit" && <WebhookForm webhook={asked.webhook} close={close} />}
      {asked?.what === "test" && <TestWebhook webhook={asked.webhook} close={close} />}
      {asked?.what === "deliveries" && (
        <Deliveries
          of={{ kind: "webhook", id: asked.webhook.id, name: asked.webhook.name, enabled: asked.webhook.enabled }}
          close={close}
        />
      )}
      {asked?.what === "secret" && (
        <Confirm
          opened
          onClose={close}
          title={`A new secret for ${asked.webhook.name}?`}
          verb="Create new secret"
          busy={renew.isPending}
          onConfirm={() => renew.mutate(asked.webhook.id)}
        >
          Messages carry two signatures until the old secret expires, so that the receiver can switch without
          interruption.
        </Confirm>
      )}
      {asked?.what === "delete" && (
        <Confirm
          opened
          onClose={close}
          title={`Delete ${asked.webhook.name}?`}
          verb="Delete"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate(asked.webhook.id)}
        >
          Its deliveries are deleted too. Pending messages are not sent.
        </Confirm>
      )}
    </Stack>
  );
}

function Row({
  webhook,
  ask,
}: {
  webhook: Webhook;
  ask: (what: "edit" | "test" | "deliveries" | "delete" | "secret") => void;
}) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const able = useAction(() => webhookActs.update(webhook.id, { enabled: !webhook.enabled }), {
    done: webhook.enabled ? `${webhook.name} is off` : `${webhook.name} is on; it gets what happens from now on`,
  });
  return (
    <Table.Tr>
      <Table.Td className="stack-title" maw={360}>
        <div style={{ minWidth: 0 }}>
          <Text size="sm" fw={600} className="breaks">
            {webhook.name}
          </Text>
          <Text size="xs" c="dimmed" className="mono breaks">
            {webhook.url}
          </Text>
          {webhook.description && (
            <Text size="xs" c="dimmed" className="breaks">
              {webhook.description}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td data-label="State">
        <SubscriptionState of={webhook} />
      </Table.Td>
      <Table.Td data-label="Events">
        <Group gap={4}>
          {webhook.types.map((type) => (
            <Badge key={type} color="gray" tt="none">
              {type === "*" ? "all" : type}
            </Badge>
          ))}
        </Group>
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {!webhook.enabled && mayWrite ? (
            <Button size="compact-sm" loading={able.isPending} onClick={() => able.mutate(undefined)}>
              Turn on
            </Button>
          ) : (
            mayRun && (
              <Button size="compact-sm" variant="default" onClick={() => ask("test")}>
                Test
              </Button>
            )
          )}
          <Button size="compact-sm" variant="default" onClick={() => ask("deliveries")}>
            Deliveries
          </Button>
          {mayWrite && (
            <Menu position="bottom-end">
              <Menu.Target>
                <Button
                  size="compact-sm"
                  variant="default"
                  rightSection={<IconChevronDown size={14} />}
                  aria-label={`More for ${webhook.name}`}
                >
                  More
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item onClick={() => ask("edit")}>Edit</Menu.Item>
                <Menu.Item onClick={() => ask("secret")}>New secret…</Menu.Item>
                {webhook.enabled && <Menu.Item onClick={() => able.mutate(undefined)}>Turn off</Menu.Item>}
                <Menu.Item color="red" onClick={() => ask("delete")}>
                  Delete…
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function TestWebhook({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const test = useAction(() => webhookActs.test(webhook.id), { quiet: true });
  return (
    <Dialog onClose={close} title={`Test ${webhook.name}`} size="lg">
      <Stack>
        <Text size="sm" className="breaks">
          One message of type <span className="mono">webhook.test</span> goes to{" "}
          <span className="mono">{webhook.url}</span> now. It is not stored.
        </Text>
        {test.error ? <Failed fault={test.error} /> : null}
        {test.data && (
          <Box color={test.data.ok ? "green" : "red"} role="status" title={test.data.ok ? "Accepted" : "Not accepted"}>
            <Text size="sm" className="breaks">
              {test.data.error ?? `Status ${test.data.status_code}, ${took(test.data.duration_ms)}`}
            </Text>
            {test.data.response && (
              <pre className="raw" tabIndex={0} aria-label="Response">
                {test.data.response}
              </pre>
            )}
          </Box>
        )}
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

function WebhookForm({
  webhook,
  close,
  made,
}: {
  webhook?: Webhook;
  close: () => void;
  made?: (secret: string) => void;
}) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [name, setName] = useState(webhook?.name ?? "");
  const [types, setTypes] = useState<string[]>((webhook?.types ?? []).filter((type) => type !== "*"));
  const [description, setDescription] = useState(webhook?.description ?? "");
  const [connection, setConnection] = useState(webhook?.connection ?? "");
  const request = { url, name, types, description, connection, enabled: webhook?.enabled ?? true };
  const save = useAction(() => (webhook ? webhookActs.update(webhook.id, request) : webhookActs.create(request)), {
    done: "Saved",
    quiet: true,
    after: (saved) => {
      made?.(saved.secret ?? "");
      close();
    },
  });
  const fault = save.error ? asProblem(save.error) : null;
  return (
    <Dialog onClose={close} title={webhook ? `Edit ${webhook.name}` : "New webhook"} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="URL"
            required
            type={connection ? "text" : "url"}
            placeholder={connection ? "/hook" : "https://example.com/hook"}
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
            error={fault?.of("url")}
            data-autofocus
          />
          <ConnectionInput value={connection} set={setConnection} error={fault?.of("connection")} />
          <TextInput
            label="Name"
            description="Uses the host name if empty"
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fault?.of("name")}
          />
          <TagsInput
            label="Events"
            description="Leave empty for all events; run.* matches a group"
            inputWrapperOrder={["label", "input", "description", "error"]}
            data={SUGGESTED}
            value={types}
            onChange={setTypes}
            error={fault?.of("types")}
            acceptValueOnBlur
            splitChars={[",", " "]}
          />
          <TextInput
            label="Description"
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            error={fault?.of("description")}
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
              {webhook ? "Save" : "Create webhook"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
