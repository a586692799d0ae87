import { Button, Card, Group, Stack, Table, Text } from "@mantine/core";
import { IconPlus, IconSignature } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { Confirm } from "../../parts/Confirm";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAct } from "../../parts/useAct";
import { When } from "../../time/When";

export function SigningKeys() {
  const keys = useQuery({ queryKey: ["settings", "signing"], queryFn: () => data(api.GET("/api/v1/signing-keys")) });
  const [made, setMade] = useState("");
  const [ending, setEnding] = useState("");
  const make = useAct(() => data(api.POST("/api/v1/signing-keys")) as Promise<{ secret: string }>, {
    after: (key) => setMade(key.secret),
  });
  const revoke = useAct(
    (id: string) => data(api.DELETE("/api/v1/signing-keys/{key}", { params: { path: { key: id } } })),
    { done: "The signing key has ended", after: () => setEnding("") },
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
            With a signing key, whoever is called can prove that the call came from here.
          </Text>
          {add}
        </Group>
      )}
      {made && (
        <ShownOnce what="The secret" secret={made}>
          Give it to whoever verifies the header <span className="mono">webhook-signature</span>. Keys made before keep
          signing beside it.
        </ShownOnce>
      )}
      {!keys.data.items.length ? (
        <Empty icon={IconSignature} title="Calls are not signed" action={add} command="mainspring signing-key create">
          Make a key, and every call carries a signature by the Standard Webhooks rules.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Key</Table.Th>
                <Table.Th>Made</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {keys.data.items.map((key) => (
                <Table.Tr key={key.id}>
                  <Table.Td className="stack-title mono">{key.id}</Table.Td>
                  <Table.Td data-label="Made">
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
        Calls are no longer signed with it; whoever verifies by it alone will refuse them.
      </Confirm>
    </Stack>
  );
}
