/** Connections: base URLs with credentials, TLS and proxy settings that endpoints share. */
import { Badge, Alert as Box, Button, Card, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { IconPlugConnected, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Connection,
  type ConnectionTest,
  connectionActs,
  connectionQuery,
  connectionsQuery,
} from "../../api/connections";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { took } from "../../words/duration";
import { ConnectionForm } from "./ConnectionForm";

type What = "edit" | "test" | "delete";
type Asked = { what: What; connection: Connection } | { what: "new" } | null;

export function Connections() {
  const connections = useQuery(connectionsQuery);
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  if (connections.error && !connections.data)
    return <Failed fault={connections.error} retry={() => void connections.refetch()} />;
  if (!connections.data) return <Pending />;
  const items = connections.data.items;
  const add = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAsked({ what: "new" })}>
      New connection
    </Button>
  );
  return (
    <Stack>
      {items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            An edit changes what all users of a connection send from their next call on.
          </Text>
          {add}
        </Group>
      )}
      {!items.length ? (
        <Empty
          icon={IconPlugConnected}
          title="No connections yet"
          action={add}
          command="mainspring connection add billing https://billing.example.com/v1 --auth header --header X-Api-Key"
        >
          A connection has a base URL, credentials, TLS and proxy settings. Endpoints use it by name.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Connection</Table.Th>
                <Table.Th>Credentials</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((connection) => (
                <Row key={connection.id} connection={connection} ask={(what) => setAsked({ what, connection })} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {asked?.what === "new" && <ConnectionForm close={close} />}
      {asked?.what === "edit" && <ConnectionForm connection={asked.connection} close={close} />}
      {asked?.what === "test" && <TestConnection connection={asked.connection} close={close} />}
      {asked?.what === "delete" && <DeleteConnection connection={asked.connection} close={close} />}
    </Stack>
  );
}

function Row({ connection, ask }: { connection: Connection; ask: (what: What) => void }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  return (
    <Table.Tr>
      <Table.Td className="stack-title title-cell">
        <div style={{ minWidth: 0 }}>
          <Text size="sm" fw={600} className="breaks">
            {connection.name}
          </Text>
          <Text size="xs" c="dimmed" className="mono breaks">
            {connection.base_url}
          </Text>
          {connection.description && (
            <Text size="xs" c="dimmed" className="breaks">
              {connection.description}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td data-label="Credentials">
        <Group gap={4}>
          <Badge color="gray" tt="none">
            {connection.auth}
          </Badge>
          {connection.client_certificate && (
            <Badge color="gray" tt="none">
              client certificate
            </Badge>
          )}
          {connection.proxy && (
            <Badge color="gray" tt="none">
              proxy {connection.proxy}
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {mayRun && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => ask("test")}
              aria-label={`Test ${connection.name}`}
            >
              Test
            </Button>
          )}
          {mayWrite && (
            <>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => ask("edit")}
                aria-label={`Edit ${connection.name}`}
              >
                Edit
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => ask("delete")}
                aria-label={`Delete ${connection.name}`}
              >
                Delete…
              </Button>
            </>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function DeleteConnection({ connection, close }: { connection: Connection; close: () => void }) {
  const detail = useQuery(connectionQuery(connection.id));
  const remove = useAction(() => connectionActs.remove(connection.id), { done: "Connection deleted", after: close });
  const users = detail.data?.users ?? [];
  return (
    <Confirm
      opened
      onClose={close}
      title={`Delete ${connection.name}?`}
      verb="Delete"
      danger
      busy={remove.isPending}
      disabled={users.length > 0}
      onConfirm={() => remove.mutate(undefined)}
    >
      {users.length
        ? `It is in use and cannot be deleted. Used by: ${users.map((each) => `${each.kind} ${each.name}`).join(", ")}.`
        : "Its credentials are deleted too."}
    </Confirm>
  );
}

function TestConnection({ connection, close }: { connection: Connection; close: () => void }) {
  const [path, setPath] = useState("");
  const test = useAction(() => connectionActs.test(connection.id, path), { quiet: true });
  return (
    <Dialog onClose={close} title={`Test ${connection.name}`} size="lg">
      <Stack>
        <TextInput
          label="Path"
          description="Relative to the base URL; empty: the base URL"
          inputWrapperOrder={["label", "input", "description", "error"]}
          value={path}
          onChange={(event) => setPath(event.currentTarget.value)}
          data-autofocus
        />
        {test.error ? <Failed fault={test.error} /> : null}
        {test.data && <Result of={test.data} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Close
          </Button>
          <Button loading={test.isPending} onClick={() => test.mutate(undefined)}>
            {test.data ? "Call again" : "Call"}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

const ms = (us: number | null | undefined): string => `${((us ?? 0) / 1000).toFixed(1)} ms`;

function Result({ of }: { of: ConnectionTest }) {
  const { phases, certificate } = of;
  return (
    <Box color={of.ok ? "green" : "red"} role="status" title={of.ok ? "Reached" : "Failed"}>
      <Text size="sm" className="breaks">
        {of.status_code === null ? of.error : `Status ${of.status_code}, ${took(of.duration_ms)}, ${of.address ?? ""}`}
      </Text>
      {phases && (
        <Text size="xs" className="mono">
          DNS {ms(phases.dns_us)} · connect {ms(phases.connect_us)} · TLS {ms(phases.tls_us)} · first byte{" "}
          {ms(phases.first_byte_us)} · total {ms(phases.total_us)}
        </Text>
      )}
      {certificate && (
        <Text size="xs" className="breaks">
          Certificate of {certificate.subject}, issued by {certificate.issuer}
          {certificate.days_left === null ? "" : `, days left: ${certificate.days_left}`}
        </Text>
      )}
    </Box>
  );
}
