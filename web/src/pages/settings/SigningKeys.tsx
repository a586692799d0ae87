import { Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { IconPlus, IconSignature } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { Confirm } from "../../parts/Confirm";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";

export function SigningKeys() {
  const keys = useQuery({ queryKey: ["settings", "signing"], queryFn: () => data(api.GET("/api/v1/signing-keys")) });
  const [made, setMade] = useState("");
  const [ending, setEnding] = useState("");
  const make = useAction(() => data(api.POST("/api/v1/signing-keys")) as Promise<{ secret: string }>, {
    after: (key) => setMade(key.secret),
  });
  const revoke = useAction(
    (id: string) => data(api.DELETE("/api/v1/signing-keys/{key}", { params: { path: { key: id } } })),
    { done: "Signing key revoked", after: () => setEnding("") },
  );
  if (keys.error) return <Failed fault={keys.error} retry={() => void keys.refetch()} />;
  if (!keys.data) return <Pending />;
  const add = (
    <Button leftSection={<IconPlus size={16} />} loading={make.isPending} onClick={() => make.mutate(undefined)}>
      New signing key
    </Button>
  );
  return (
    <Stack>
      {keys.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            With a signing key, receivers can verify that a call came from Mainspring.
          </Text>
          {add}
        </Group>
      )}
      {made && (
        <ShownOnce what="Secret" secret={made}>
          Use it to verify the header <span className="mono">webhook-signature</span>. Older keys keep signing too.
        </ShownOnce>
      )}
      {!keys.data.items.length ? (
        <Empty icon={IconSignature} title="Calls are not signed" action={add} command="mainspring signing-key create">
          Create a key to sign every call as specified by Standard Webhooks.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Key</Table.Th>
                <Table.Th>Created</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {keys.data.items.map((key) => (
                <Table.Tr key={key.id}>
                  <Table.Td className="stack-title mono">{key.id}</Table.Td>
                  <Table.Td data-label="Created">
                    <When at={key.created_at} />
                  </Table.Td>
                  <Table.Td>
                    <Button size="compact-sm" variant="subtle" color="red" onClick={() => setEnding(key.id)}>
                      Revoke
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      <Confirm
        opened={!!ending}
        onClose={() => setEnding("")}
        title="Revoke this signing key?"
        verb="Revoke"
        danger
        busy={revoke.isPending}
        onConfirm={() => revoke.mutate(ending)}
      >
        Calls are no longer signed with this key. Receivers that only know this key will refuse them.
      </Confirm>
    </Stack>
  );
}
