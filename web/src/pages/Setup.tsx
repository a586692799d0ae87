/** The page of a link that opens once: the first owner, or somebody who was invited, sets a password. */
import { Alert, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { api, asProblem, data, type Problem } from "../api/client";
import { sessionQuery } from "../api/session";
import { forgetTenant } from "../api/tenant";
import { Door } from "../parts/Door";

function tokenOfLink(): string {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}

export function Setup() {
  const [token] = useState(tokenOfLink);
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [fault, setFault] = useState<Problem | null>(null);
  const [isAsked, setIsAsked] = useState(false); // for an e-mail address: the link alone does not tell who is invited
  const [busy, setBusy] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  // The token must not stay in the history of a browser that others use.
  useEffect(() => window.history.replaceState(window.history.state, "", "/setup"), []);

  const enter = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      forgetTenant();
      const body = { token, password, name, ...(email ? { email } : {}) };
      const session = await data(api.POST("/api/v1/auth/setup", { body }));
      client.clear();
      client.setQueryData(sessionQuery.queryKey, session);
      await navigate({ to: "/" });
    } catch (caught) {
      const problem = asProblem(caught);
      setFault(problem);
      if (problem.of("email")) setIsAsked(true);
    } finally {
      setBusy(false);
    }
  };

  if (!token) {
    return (
      <Door title="This link is not complete">
        <Text size="sm">Open the whole link that the server printed or that you were sent; it ends in <span className="mono">#token=…</span>.</Text>
        <Button component={Link} to="/login" mt="md" variant="default" fullWidth>Sign in instead</Button>
      </Door>
    );
  }
  return (
    <Door title="Set your password">
      <form onSubmit={(event) => void enter(event)}>
        <Stack>
          {fault && !["email", "name", "password"].some((field) => fault.of(field)) && <Alert color="red" role="alert">{fault.message}</Alert>}
          <TextInput label="E-mail" description="You sign in with it. Leave it empty only if you were invited." required={isAsked} type="email" autoComplete="username" value={email} onChange={(event) => setEmail(event.currentTarget.value)} error={fault?.of("email")} autoFocus />
          <TextInput label="Name" description="As others see it." autoComplete="name" value={name} onChange={(event) => setName(event.currentTarget.value)} error={fault?.of("name")} />
          <PasswordInput label="Password" description="12 characters or more: four words in a row are strong and easy to keep." autoComplete="new-password" required value={password} onChange={(event) => setPassword(event.currentTarget.value)} error={fault?.of("password")} />
          <Button type="submit" loading={busy} fullWidth>Set it and sign in</Button>
        </Stack>
      </form>
    </Door>
  );
}
