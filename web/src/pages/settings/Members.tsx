import { Button, Card, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { useMay, useSession } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { ROLES, type Role } from "./roles";

export function Members() {
  const members = useQuery({ queryKey: ["settings", "members"], queryFn: () => data(api.GET("/api/v1/members")) });
  const session = useSession();
  const mayAdmin = useMay("admin");
  const [adding, setAdding] = useState(false);
  const [link, setLink] = useState("");
  const [leaving, setLeaving] = useState<{ email: string } | null>(null);
  const setRole = useAction(
    ({ user, role }: { user: string; role: Role }) =>
      data(api.PATCH("/api/v1/members/{user}", { params: { path: { user } }, body: { role } })),
    { done: "Role changed" },
  );
  const remove = useAction(
    (user: string) => data(api.DELETE("/api/v1/members/{user}", { params: { path: { user } } })),
    {
      done: "Member removed",
      after: () => setLeaving(null),
    },
  );
  if (members.error) return <Failed fault={members.error} retry={() => void members.refetch()} />;
  if (!members.data) return <Pending />;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Members of {session.tenant} and their roles.
        </Text>
        {mayAdmin && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
            Invite
          </Button>
        )}
      </Group>
      {link && (
        <ShownOnce what="Invitation link" secret={link}>
          The link works once, within 24 hours. Send it to this person only.
        </ShownOnce>
      )}
      <Card padding={0}>
        <Table className="stacks" verticalSpacing={8}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Member</Table.Th>
              <Table.Th>Role</Table.Th>
              <Table.Th>Since</Table.Th>
              {mayAdmin && <Table.Th>Actions</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {members.data.items.map((member) => (
              <Table.Tr key={member.email}>
                <Table.Td className="stack-title">
                  <div>
                    <Text size="sm" fw={600} className="breaks">
                      {member.name || member.email}
                    </Text>
                    <Text size="xs" c="dimmed" className="breaks">
                      {member.email}
                      {member.status === "active" ? "" : ` (${member.status})`}
                    </Text>
                  </div>
                </Table.Td>
                <Table.Td data-label="Role">
                  {mayAdmin ? (
                    <Select
                      size="xs"
                      aria-label={`Role of ${member.email}`}
                      data={ROLES}
                      value={member.role}
                      allowDeselect={false}
                      w={210}
                      onChange={(role) =>
                        role && role !== member.role && setRole.mutate({ user: member.email, role: role as Role })
                      }
                    />
                  ) : (
                    member.role
                  )}
                </Table.Td>
                <Table.Td data-label="Since">
                  <When at={member.created_at} />
                </Table.Td>
                {mayAdmin && (
                  <Table.Td>
                    {member.user_id !== session.user?.id && (
                      <Button size="compact-sm" variant="subtle" color="red" onClick={() => setLeaving(member)}>
                        Remove
                      </Button>
                    )}
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Card>
      {adding && (
        <Invite
          close={() => setAdding(false)}
          done={(made) => {
            setLink(made ?? "");
            setAdding(false);
          }}
        />
      )}
      <Confirm
        opened={!!leaving}
        onClose={() => setLeaving(null)}
        title={`Remove ${leaving?.email ?? ""}?`}
        verb="Remove"
        danger
        busy={remove.isPending}
        onConfirm={() => leaving && remove.mutate(leaving.email)}
      >
        They lose access to this tenant. The account itself stays.
      </Confirm>
    </Stack>
  );
}

function Invite({ close, done }: { close: () => void; done: (link: string | null) => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<string>("operator");
  const invite = useAction(
    () =>
      data(api.POST("/api/v1/members", { body: { email, name, role: role as Role } })) as Promise<{
        link: string | null;
        emailed: boolean;
      }>,
    { done: `${email} is invited`, after: (made) => done(made.link), quiet: true },
  );
  const fault = invite.error ? asProblem(invite.error) : null;
  return (
    <Dialog onClose={close} title="Invite">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          invite.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="Email"
            type="email"
            required
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            error={fault?.of("email")}
            data-autofocus
          />
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fault?.of("name")}
          />
          <Select
            label="Role"
            data={ROLES}
            value={role}
            onChange={(value) => setRole(value ?? "viewer")}
            allowDeselect={false}
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
            <Button type="submit" loading={invite.isPending}>
              Invite
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
