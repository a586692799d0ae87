import { ActionIcon, Button, Card, Checkbox, Group, Menu, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconDots, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { asProblem } from "../../api/client";
import { tenantsQuery, type User, userActs, usersQuery } from "../../api/installation";
import { useSession } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { Failed, Pending } from "../../parts/Outcomes";
import { ShownOnce } from "../../parts/ShownOnce";
import { Mark } from "../../parts/Status";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { ROLES, type Role } from "./roles";

const MANY = 10; // from here on one wants to search

type Asked = { what: "disable" | "raise" | "lower"; user: User } | null;
type Invited = { email: string; link: string };

export function Users() {
  const users = useQuery(usersQuery);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Invited | null>(null);
  const [asked, setAsked] = useState<Asked>(null);
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const change = useAction(
    ({ user, ...wish }: { user: User; disabled?: boolean; operator?: boolean }) => userActs.update(user.id, wish),
    { done: (user) => `${user.email} is changed`, after: () => setAsked(null) },
  );
  const link = useAction((user: User) => userActs.link(user.id), { after: (found) => setMade(found) });
  if (users.error) return <Failed fault={users.error} retry={() => void users.refetch()} />;
  if (!users.data) return <Pending />;
  const all = users.data.items;
  const shown = all.filter((user) => `${user.name} ${user.email}`.toLowerCase().includes(wanted));
  return (
    <Stack component="section" aria-label="Users">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={2}>Users</Title>
          <Text size="sm" c="dimmed">
            People who can sign in. Roles are set per tenant.
          </Text>
        </div>
        <Group gap="xs">
          {all.length > MANY && (
            <TextInput
              aria-label="Find user"
              placeholder="Find user"
              w={180}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
          )}
          <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
            New user
          </Button>
        </Group>
      </Group>
      {made && (
        <ShownOnce what={`Link for ${made.email}`} secret={made.link}>
          The link works once, within 24 hours, and sets the password.
        </ShownOnce>
      )}
      <Card padding={0}>
        <table className="list stacks">
          <thead>
            <tr>
              <th>User</th>
              <th>State</th>
              <th>Sign-in method</th>
              <th>Since</th>
              <th>Actions</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((user) => (
              <Row
                key={user.id}
                user={user}
                ask={(what) => setAsked({ what, user })}
                enable={() => change.mutate({ user, disabled: false })}
                makeLink={() => link.mutate(user)}
              />
            ))}
          </tbody>
        </table>
        {!shown.length && (
          <Text size="sm" c="dimmed" p="md">
            No users match.
          </Text>
        )}
      </Card>
      {adding && (
        <UserForm
          close={() => setAdding(false)}
          done={(found) => {
            setMade(found);
            setAdding(false);
          }}
        />
      )}
      {asked?.what === "disable" && (
        <Confirm
          opened
          onClose={() => setAsked(null)}
          title={`Disable ${asked.user.email}?`}
          verb="Disable"
          danger
          busy={change.isPending}
          onConfirm={() => change.mutate({ user: asked.user, disabled: true })}
        >
          They are signed out everywhere and cannot sign in until they are enabled again. Their API keys keep working;
          revoke those separately.
        </Confirm>
      )}
      {asked?.what === "raise" && (
        <Confirm
          opened
          onClose={() => setAsked(null)}
          title={`Make ${asked.user.email} an operator?`}
          verb="Make operator"
          busy={change.isPending}
          onConfirm={() => change.mutate({ user: asked.user, operator: true })}
        >
          Operators manage users, tenants and quotas, and can create a link to set any user's password.
        </Confirm>
      )}
      {asked?.what === "lower" && (
        <Confirm
          opened
          onClose={() => setAsked(null)}
          title={`Remove operator rights of ${asked.user.email}?`}
          verb="Remove rights"
          danger
          busy={change.isPending}
          onConfirm={() => change.mutate({ user: asked.user, operator: false })}
        >
          They keep their roles in tenants but can no longer manage users and tenants of the installation.
        </Confirm>
      )}
    </Stack>
  );
}

function Row({
  user,
  ask,
  enable,
  makeLink,
}: {
  user: User;
  ask: (what: "disable" | "raise" | "lower") => void;
  enable: () => void;
  makeLink: () => void;
}) {
  const isYou = useSession().user?.id === user.id;
  return (
    <tr>
      <td className="stack-title name-cell">
        <div>
          <div className="go-strong breaks">
            {user.name || user.email}
            {isYou ? " (you)" : ""}
          </div>
          <div className="small breaks">{user.email}</div>
        </div>
      </td>
      <td data-label="State">
        <Group gap={6}>
          <UserState user={user} />
          {user.operator && (
            <Mark tone="calm" word="operator" meaning="Can manage users and tenants of the installation." />
          )}
        </Group>
      </td>
      <td className="wide-only">
        {[user.has_password ? "a password" : "", user.oidc ? "single sign-on" : ""].filter(Boolean).join(", ") ||
          "nothing yet"}
      </td>
      <td data-label="Since">
        <When at={user.created_at} />
      </td>
      <td>
        <Group gap={6} wrap="nowrap">
          {user.disabled ? (
            <Button size="compact-sm" variant="default" onClick={enable}>
              Enable
            </Button>
          ) : (
            <Button size="compact-sm" variant="default" onClick={makeLink}>
              New link
            </Button>
          )}
          {!isYou && (
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" aria-label={`More for ${user.email}`}>
                  <IconDots size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item onClick={() => ask(user.operator ? "lower" : "raise")}>
                  {user.operator ? "Remove operator rights…" : "Make operator…"}
                </Menu.Item>
                {!user.disabled && (
                  <Menu.Item color="red" onClick={() => ask("disable")}>
                    Disable…
                  </Menu.Item>
                )}
              </Menu.Dropdown>
            </Menu>
          )}
        </Group>
      </td>
    </tr>
  );
}

function UserState({ user }: { user: User }) {
  if (user.disabled) return <Mark tone="idle" word="disabled" meaning="Cannot sign in." />;
  if (!user.has_password && !user.oidc)
    return <Mark tone="warn" word="invited" meaning="Has not set a password yet." />;
  return <Mark tone="good" word="active" meaning="Can sign in." />;
}

function UserForm({ close, done }: { close: () => void; done: (made: Invited) => void }) {
  const tenants = useQuery(tenantsQuery);
  const session = useSession();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [tenant, setTenant] = useState<string | null>(session.tenant);
  const [role, setRole] = useState<Role>("viewer");
  const [operator, setOperator] = useState(false);
  const add = useAction(() => userActs.create({ email, name, operator, tenant, role }), {
    done: `${email} is a user`,
    after: done,
    quiet: true,
  });
  const fault = add.error ? asProblem(add.error) : null;
  const isPlaced = fault?.of("email") || fault?.of("name") || fault?.of("tenant");
  const places = (tenants.data?.items ?? []).map((each) => ({
    value: each.id,
    label: each.name === each.id ? each.id : `${each.name} (${each.id})`,
  }));
  return (
    <Dialog onClose={close} title="New user">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(undefined);
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
            label="Tenant"
            description="The tenant they join."
            placeholder="None"
            clearable
            searchable
            data={places}
            value={tenant}
            onChange={setTenant}
            error={fault?.of("tenant")}
          />
          {tenant && (
            <Select
              label="Role"
              data={ROLES}
              value={role}
              onChange={(value) => setRole((value ?? "viewer") as Role)}
              allowDeselect={false}
            />
          )}
          <Checkbox
            label="Operator of the installation"
            description="Can manage users, tenants and quotas."
            checked={operator}
            onChange={(event) => setOperator(event.currentTarget.checked)}
          />
          {fault && !isPlaced && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={add.isPending}>
              Create user
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
