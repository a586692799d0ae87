import {
  Button,
  Card,
  Group,
  PasswordInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
  useMantineColorScheme,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { useSession } from "../../api/session";
import { type Fact, KeyValueList } from "../../parts/KeyValueList";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAction } from "../../parts/useAction";
import type { TimeMode } from "../../time/format";
import { useTimeMode, When } from "../../time/When";
import { Passkeys } from "./Passkeys";

export function Account() {
  const session = useSession();
  const { mode, setMode } = useTimeMode();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: "start" }}>
      <Card>
        <Title order={2} mb="sm">
          Account
        </Title>
        <KeyValueList
          rows={[
            ["Name", session.user ? session.user.name || "–" : session.actor],
            ...(session.user ? [["Email", session.user.email] as Fact] : []),
            ["Tenant", session.tenant ?? "none"],
            ["Scopes", session.scopes.join(", ") || "none"],
            ...(session.expires_at ? [["Session expires", <When at={session.expires_at} />] as Fact] : []),
          ]}
        />
      </Card>
      <Card>
        <Title order={2} mb="sm">
          Appearance
        </Title>
        <Stack gap="sm">
          <Group justify="space-between">
            <Text size="sm">Theme</Text>
            <SegmentedControl
              value={colorScheme}
              onChange={(value) => setColorScheme(value as "light")}
              data={[
                { value: "auto", label: "System" },
                { value: "light", label: "Light" },
                { value: "dark", label: "Dark" },
              ]}
              aria-label="Theme"
            />
          </Group>
          <Group justify="space-between">
            <Text size="sm">Times</Text>
            <SegmentedControl
              value={mode}
              onChange={(value) => setMode(value as TimeMode)}
              data={[
                { value: "relative", label: "Relative" },
                { value: "local", label: "Local" },
                { value: "utc", label: "UTC" },
              ]}
              aria-label="Times"
            />
          </Group>
        </Stack>
      </Card>
      {session.user?.has_password && <Password />}
      {session.user?.has_password && <SecondFactor />}
      {session.user?.has_password && <Passkeys />}
      {session.user && <Sessions />}
    </SimpleGrid>
  );
}

function Password() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useAction(() => data(api.POST("/api/v1/auth/password", { body: { current, password } })), {
    done: "Password changed; all other sessions ended",
    quiet: true,
    after: () => {
      setCurrent("");
      setPassword("");
    },
  });
  const fault = change.error ? asProblem(change.error) : null;
  return (
    <Card>
      <Title order={2} mb="sm">
        Password
      </Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(undefined);
        }}
      >
        <Stack>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            error={fault?.of("current")}
          />
          <PasswordInput
            label="New password"
            autoComplete="new-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={fault?.of("password")}
          />
          {fault && !fault.of("password") && !fault.of("current") && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group>
            <Button type="submit" variant="default" loading={change.isPending}>
              Change password
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}

function Sessions() {
  const sessions = useQuery({
    queryKey: ["settings", "sessions"],
    queryFn: () => data(api.GET("/api/v1/auth/sessions")),
  });
  const end = useAction(
    (login: string) => data(api.DELETE("/api/v1/auth/sessions/{login}", { params: { path: { login } } })),
    { done: "Session ended" },
  );
  const endOthers = useAction(() => data(api.DELETE("/api/v1/auth/sessions")), { done: "All other sessions ended" });
  if (!sessions.data) return null;
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Title order={2}>Sessions</Title>
        {sessions.data.items.length > 1 && (
          <Button
            size="compact-sm"
            variant="default"
            loading={endOthers.isPending}
            onClick={() => endOthers.mutate(undefined)}
          >
            End all other sessions
          </Button>
        )}
      </Group>
      <Stack gap="xs">
        {sessions.data.items.map((each) => (
          <Group key={each.id} justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" className="breaks">
                {each.agent ?? "Unknown browser"}
                {each.current ? " (this one)" : ""}
              </Text>
              <Text size="xs" c="dimmed">
                {each.address ?? "unknown address"}, last seen <When at={each.seen_at} />
              </Text>
            </div>
            {!each.current && (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate(each.id)}>
                End session
              </Button>
            )}
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

function SecondFactor() {
  const state = useQuery({
    queryKey: ["settings", "second-factor"],
    queryFn: () => data(api.GET("/api/v1/auth/second-factor")),
  });
  const [begun, setBegun] = useState<{ secret: string; uri: string } | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const [code, setCode] = useState("");
  const begin = useAction(() => data(api.POST("/api/v1/auth/second-factor")), {
    done: "Add the secret to your app",
    after: setBegun,
  });
  const confirm = useAction(() => data(api.POST("/api/v1/auth/second-factor/confirm", { body: { code } })), {
    done: "Second factor enabled",
    after: (made) => {
      setCodes(made.recovery_codes);
      setBegun(null);
      setCode("");
    },
  });
  const disable = useAction(() => data(api.POST("/api/v1/auth/second-factor/disable", { body: { code } })), {
    done: "Second factor disabled",
    after: () => {
      setCode("");
      setCodes([]);
    },
  });
  if (!state.data) return null;
  const enabled = state.data.enabled;
  return (
    <Card>
      <Title order={2} mb="sm">
        Second factor
      </Title>
      <Stack gap="sm">
        <Text size="sm">
          {enabled
            ? `Signing in requires a code. ${state.data.recovery_codes_left} recovery codes left.`
            : "Require a code from an authenticator app when you sign in."}
        </Text>
        {codes.length > 0 && (
          <ShownOnce what="Recovery codes" secret={codes.join(" ")}>
            Each code works once, without the app. Store them with your passwords.
          </ShownOnce>
        )}
        {begun && (
          <ShownOnce what="Secret" secret={begun.secret}>
            Add it to your app, or open <span className="mono breaks">{begun.uri}</span> there. Then enter a code.
          </ShownOnce>
        )}
        {(begun || enabled) && (
          <TextInput
            label="Code"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
        )}
        <Group>
          {!enabled && !begun && (
            <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate(undefined)}>
              Set up second factor
            </Button>
          )}
          {begun && (
            <Button disabled={!code} loading={confirm.isPending} onClick={() => confirm.mutate(undefined)}>
              Confirm code
            </Button>
          )}
          {enabled && (
            <Button
              color="red"
              variant="default"
              disabled={!code}
              loading={disable.isPending}
              onClick={() => disable.mutate(undefined)}
            >
              Disable second factor
            </Button>
          )}
        </Group>
      </Stack>
    </Card>
  );
}
