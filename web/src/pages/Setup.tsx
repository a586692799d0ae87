/** The page of a link that opens once: the first owner or a user sets a password, or a person accepts an invitation. */
import { Alert, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { api, asProblem, data, type Problem } from "../api/client";
import { forgetTenant, pathIn } from "../api/tenant";
import { AuthLayout } from "../parts/AuthLayout";
import { ButtonLink } from "../parts/links";

function tokenOfLink(): string {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}

export function Setup() {
  const [token] = useState(tokenOfLink);
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [fault, setFault] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const link = useQuery({
    queryKey: ["link", token],
    queryFn: () => data(api.POST("/api/v1/auth/link", { body: { token } })),
    enabled: !!token,
    retry: false,
    staleTime: Infinity,
  });
  // The token must not stay in the history of a browser that others use.
  useEffect(() => window.history.replaceState(window.history.state, "", "/setup"), []);

  const enter = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      forgetTenant();
      if (link.data?.needs_login)
        await data(api.POST("/api/v1/auth/login", { body: { email: link.data.email ?? "", password, code } }));
      await (link.data?.needs_login
        ? data(api.POST("/api/v1/auth/accept", { body: { token } }))
        : data(api.POST("/api/v1/auth/setup", { body: { token, password, name, ...(email ? { email } : {}) } })));
      // A fresh start, in the tenant that was joined.
      location.assign(link.data?.tenant ? pathIn(link.data.tenant) : "/");
    } catch (caught) {
      setFault(asProblem(caught));
    } finally {
      setBusy(false);
    }
  };

  if (!token) {
    return (
      <AuthLayout title="Incomplete link">
        <Text size="sm">
          Open the full link from the server's output or your invitation. It ends in{" "}
          <span className="mono">#token=…</span>.
        </Text>
        <ButtonLink to="/login" mt="md" variant="default" fullWidth>
          Sign in instead
        </ButtonLink>
      </AuthLayout>
    );
  }
  if (link.error) {
    return (
      <AuthLayout title="Invalid link">
        <Alert color="red" role="alert">
          {asProblem(link.error).message}
        </Alert>
        <ButtonLink to="/login" mt="md" variant="default" fullWidth>
          Sign in instead
        </ButtonLink>
      </AuthLayout>
    );
  }
  const sight = link.data;
  const isInvitation = sight?.use === "invitation";
  const needsLogin = sight?.needs_login ?? false;
  return (
    <AuthLayout title={isInvitation ? `Join ${sight.tenant_name ?? ""}` : "Set your password"}>
      <form onSubmit={(event) => void enter(event)}>
        <Stack>
          {fault && !["email", "name", "password"].some((field) => fault.of(field)) && (
            <Alert color="red" role="alert">
              {fault.message}
            </Alert>
          )}
          {isInvitation && (
            <Text size="sm">
              You are invited to join the tenant <b>{sight.tenant_name}</b> with the role <b>{sight.role}</b>. Your
              email address is {sight.email}.
              {needsLogin ? " You have an account: enter its password to accept." : " Set a password to accept."}
            </Text>
          )}
          {sight?.use === "first_owner" && (
            <TextInput
              label="Email"
              description="Used to sign in."
              required
              type="email"
              autoComplete="username"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={fault?.of("email")}
              autoFocus
            />
          )}
          {sight && sight.use !== "password" && !needsLogin && (
            <TextInput
              label="Name"
              description="Shown to other users."
              autoComplete="name"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fault?.of("name")}
            />
          )}
          <PasswordInput
            label="Password"
            description={
              needsLogin ? undefined : "At least 12 characters. Four random words are strong and easy to remember."
            }
            autoComplete={needsLogin ? "current-password" : "new-password"}
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={fault?.of("password")}
          />
          {needsLogin && (code || fault?.kind === "code-required") && (
            <TextInput
              label="Code"
              description="From your authenticator app, or a recovery code."
              autoComplete="one-time-code"
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
            />
          )}
          <Button type="submit" loading={busy || !sight} fullWidth>
            {isInvitation ? "Accept invitation" : "Create account"}
          </Button>
        </Stack>
      </form>
    </AuthLayout>
  );
}
