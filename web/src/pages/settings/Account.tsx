import { Button, Card, Group, PasswordInput, SegmentedControl, SimpleGrid, Stack, Text, Title, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { useSession } from "../../api/session";
import { type Fact, Facts } from "../../parts/Facts";
import { useAct } from "../../parts/useAct";
import type { TimeMode } from "../../time/format";
import { useTimeMode, When } from "../../time/When";

export function Account() {
  const session = useSession();
  const { mode, setMode } = useTimeMode();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: "start" }}>
      <Card>
        <Title order={2} mb="sm">Who you are here</Title>
        <Facts rows={[
          ["Name", session.user ? session.user.name || "–" : session.actor], ...(session.user ? [["E-mail", session.user.email] as Fact] : []), ["Tenant", session.tenant ?? "none"],
          ["You may", session.scopes.join(", ") || "nothing"], ...(session.expires_at ? [["Signed in until", <When at={session.expires_at} />] as Fact] : []),
        ]} />
      </Card>
      <Card>
        <Title order={2} mb="sm">Appearance</Title>
        <Stack gap="sm">
          <Group justify="space-between"><Text size="sm">Colours</Text><SegmentedControl value={colorScheme} onChange={(value) => setColorScheme(value as "light")} data={[{ value: "auto", label: "As the system" }, { value: "light", label: "Light" }, { value: "dark", label: "Dark" }]} aria-label="Colours" /></Group>
          <Group justify="space-between"><Text size="sm">Times</Text><SegmentedControl value={mode} onChange={(value) => setMode(value as TimeMode)} data={[{ value: "relative", label: "Relative" }, { value: "local", label: "Local" }, { value: "utc", label: "UTC" }]} aria-label="Times" /></Group>
        </Stack>
      </Card>
      {session.user?.has_password && <Password />}
      {session.user && <Sessions />}
    </SimpleGrid>
  );
}

function Password() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useAct(() => data(api.POST("/api/v1/auth/password", { body: { current, password } })), {
    done: "The password is changed, and every other session has ended", quiet: true, after: () => { setCurrent(""); setPassword(""); },
  });
  const fault = change.error ? asProblem(change.error) : null;
  return (
    <Card>
      <Title order={2} mb="sm">Password</Title>
      <form onSubmit={(event) => { event.preventDefault(); change.mutate(undefined); }}>
        <Stack>
          <PasswordInput label="Present password" autoComplete="current-password" required value={current} onChange={(event) => setCurrent(event.currentTarget.value)} error={fault?.of("current")} />
          <PasswordInput label="New password" autoComplete="new-password" required value={password} onChange={(event) => setPassword(event.currentTarget.value)} error={fault?.of("password")} />
          {fault && !fault.of("password") && !fault.of("current") && <Text size="sm" c="red" role="alert">{fault.message}</Text>}
          <Group><Button type="submit" variant="default" loading={change.isPending}>Change the password</Button></Group>
        </Stack>
      </form>
    </Card>
  );
}

function Sessions() {
  const sessions = useQuery({ queryKey: ["settings", "sessions"], queryFn: () => data(api.GET("/api/v1/auth/sessions")) });
  const end = useAct((login: string) => data(api.DELETE("/api/v1/auth/sessions/{login}", { params: { path: { login } } })), { done: "The session has ended" });
  const endOthers = useAct(() => data(api.DELETE("/api/v1/auth/sessions")), { done: "Every other session has ended" });
  if (!sessions.data) return null;
  return (
    <Card>
      <Group justify="space-between" mb="sm"><Title order={2}>Sessions</Title>{sessions.data.items.length > 1 && <Button size="compact-sm" variant="default" loading={endOthers.isPending} onClick={() => endOthers.mutate(undefined)}>End all others</Button>}</Group>
      <Stack gap="xs">{sessions.data.items.map((each) => (
        <Group key={each.id} justify="space-between" wrap="nowrap">
          <div><Text size="sm" className="breaks">{each.agent ?? "Unknown browser"}{each.current ? " (this one)" : ""}</Text><Text size="xs" c="dimmed">{each.address ?? "unknown address"}, last seen <When at={each.seen_at} /></Text></div>
          {!each.current && <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate(each.id)}>End session</Button>}
        </Group>
      ))}</Stack>
    </Card>
  );
}
