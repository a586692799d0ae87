import { Alert, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api, asProblem, data } from "../api/client";
import { sessionQuery } from "../api/session";
import { forgetTenant } from "../api/tenant";
import { Door } from "../parts/Door";

export function Login() {
  const { from } = useSearch({ from: "/login" });
  const navigate = useNavigate();
  const router = useRouter();
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [isAsked, setIsAsked] = useState(false); // for a code of the second factor
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);

  const enter = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFault("");
    try {
      forgetTenant();
      const session = await data(api.POST("/api/v1/auth/login", { body: { email, password, code } }));
      client.clear();
      client.setQueryData(sessionQuery.queryKey, session);
      if (from?.startsWith("/") && !from.startsWith("//")) router.history.push(from);
      else await navigate({ to: "/" });
    } catch (caught) {
      const problem = asProblem(caught);
      if (problem.kind === "code-required" && !isAsked) setIsAsked(true);
      else setFault(problem.message);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Door title="Sign in">
      <form onSubmit={(event) => void enter(event)}>
        <Stack>
          {fault && <Alert color="red" role="alert">{fault}</Alert>}
          <TextInput label="E-mail" type="email" autoComplete="username" required value={email} onChange={(event) => setEmail(event.currentTarget.value)} autoFocus />
          <PasswordInput label="Password" autoComplete="current-password" required value={password} onChange={(event) => setPassword(event.currentTarget.value)} />
          {isAsked && <TextInput label="Code" description="Of your app, or a recovery code." autoComplete="one-time-code" required value={code} onChange={(event) => setCode(event.currentTarget.value)} autoFocus />}
          <Button type="submit" loading={busy} fullWidth>Sign in</Button>
        </Stack>
      </form>
      <Text size="xs" c="dimmed" mt="md">
        First time here? The server printed a link when it started. A new one, or a forgotten password:{" "}
        <span className="mono">mainspring user --help</span> on the server.
      </Text>
    </Door>
  );
}
