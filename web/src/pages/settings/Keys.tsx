import { Badge, Button, Card, Checkbox, Group, Select, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { type ScopeName, useSession } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { actorWords } from "../../words/actor";

const MEANING: Record<ScopeName, string> = {
  read: "view everything except secrets",
  run: "run, pause, resume, hint",
  write: "create, change, archive, delete",
  admin: "keys, members, audit",
};

export function Keys() {
  const keys = useQuery({ queryKey: ["settings", "keys"], queryFn: () => data(api.GET("/api/v1/keys")) });
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState("");
  const [ending, setEnding] = useState<{ id: string; name: string } | null>(null);
  const revoke = useAction((id: string) => data(api.DELETE("/api/v1/keys/{key}", { params: { path: { key: id } } })), {
    done: "API key revoked",
    after: () => setEnding(null),
  });
  if (keys.error) return <Failed fault={keys.error} retry={() => void keys.refetch()} />;
  if (!keys.data) return <Pending />;
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      New API key
    </Button>
  );
  return (
    <Stack>
      {keys.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            API keys let programs use the API.
          </Text>
          {add}
        </Group>
      )}
      {made && (
        <ShownOnce what="New API key" secret={made}>
          Send it as <span className="mono">Authorization: Bearer …</span>
        </ShownOnce>
      )}
      {!keys.data.items.length ? (
        <Empty
          icon={IconKey}
          title="No API keys yet"
          action={add}
          command="mainspring apikey create deploys --scope read --scope run"
        >
          Create a separate key for each script, pipeline or assistant, with only the scopes it needs.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Scopes</Table.Th>
                <Table.Th>Last used</Table.Th>
                <Table.Th>Expires</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {keys.data.items.map((key) => (
                <Table.Tr key={key.id}>
                  <Table.Td className="stack-title">
                    <div>
                      <Text size="sm" fw={600} className="breaks">
                        {key.name}
                      </Text>
                      <Text size="xs" c="dimmed" className="mono">
                        {key.id} by {actorWords(key.created_by)}
                      </Text>
                    </div>
                  </Table.Td>
                  <Table.Td data-label="State">
                    <Badge color={key.status === "live" ? "green" : "gray"} tt="none">
                      {key.status}
                    </Badge>
                  </Table.Td>
                  <Table.Td data-label="Scopes">{key.scopes.join(", ")}</Table.Td>
                  <Table.Td data-label="Last used">
                    <When at={key.last_used_at} none="never" />
                  </Table.Td>
                  <Table.Td data-label="Expires">
                    <When at={key.expires_at} />
                  </Table.Td>
                  <Table.Td>
                    {key.status === "live" && (
                      <Button size="compact-sm" variant="subtle" color="red" onClick={() => setEnding(key)}>
                        Revoke
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {making && (
        <KeyForm
          close={() => setMaking(false)}
          done={(key) => {
            setMade(key);
            setMaking(false);
          }}
        />
      )}
      <Confirm
        opened={!!ending}
        onClose={() => setEnding(null)}
        title={`Revoke ${ending?.name ?? ""}?`}
        verb="Revoke"
        danger
        busy={revoke.isPending}
        onConfirm={() => ending && revoke.mutate(ending.id)}
      >
        Requests with this key are refused from now on.
      </Confirm>
    </Stack>
  );
}

function KeyForm({ close, done }: { close: () => void; done: (key: string) => void }) {
  const session = useSession();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read"]);
  const [life, setLife] = useState("90d");
  const make = useAction(
    () =>
      data(
        api.POST("/api/v1/keys", { body: { name, scopes: scopes as ScopeName[], expires_in: life, operator: false } }),
      ) as Promise<{ key: string }>,
    { after: (made) => done(made.key), quiet: true },
  );
  const fault = make.error ? asProblem(make.error) : null;
  return (
    <Dialog onClose={close} title={<Title order={2}>New API key</Title>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="What the key is for"
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fault?.of("name")}
            data-autofocus
          />
          <Checkbox.Group label="Scopes" value={scopes} onChange={setScopes} error={fault?.of("scopes")}>
            <Stack gap={6} mt={6}>
              {session.scopes.map((scope) => (
                <Checkbox key={scope} value={scope} label={`${scope}: ${MEANING[scope]}`} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label="Expires after"
            data={[
              { value: "7d", label: "7 days" },
              { value: "30d", label: "30 days" },
              { value: "90d", label: "90 days" },
              { value: "365d", label: "a year" },
            ]}
            value={life}
            onChange={(value) => setLife(value ?? "90d")}
            allowDeselect={false}
            error={fault?.of("expires_in")}
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
            <Button type="submit" loading={make.isPending} disabled={!scopes.length}>
              Create API key
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
