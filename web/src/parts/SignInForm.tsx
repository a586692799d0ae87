/**
 * Email address, password, a code or passkey as the second factor, a passkey alone, and single sign-on where the
 * server has it.
 */
import { Alert, Button, Divider, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, asProblem, data } from "../api/client";
import { type Offer, passkeyFault, signWithPasskey, supportsPasskeys } from "../api/passkeys";
import type { Session } from "../api/session";

const SINGLE_SIGN_ON = "/api/v1/auth/oidc"; // for browsers, so it is not in the API's document

type SingleSignOn = { configured: boolean; refusal: string };

/** Whether the server has single sign-on, and why the last login by it was refused; the server says that once. */
export const singleSignOnQuery = {
  queryKey: ["single-sign-on"],
  queryFn: async (): Promise<SingleSignOn> => {
    const response = await fetch(SINGLE_SIGN_ON).catch(() => null);
    const said = (response?.ok ? await response.json() : {}) as Partial<SingleSignOn>;
    return { configured: said.configured === true, refusal: said.refusal ?? "" };
  },
  staleTime: Infinity,
};

export const singleSignOnPath = (from: string): string => `${SINGLE_SIGN_ON}/login?from=${encodeURIComponent(from)}`;

type Props = {
  /** The only person who may sign in here, where that is known. */
  fixedEmail?: string | undefined;
  /** The address that single sign-on returns to; in a tab of its own where this page must stay. */
  from: string;
  isInPlace?: true;
  done: (session: Session) => void | Promise<void>;
};

export function SignInForm({ fixedEmail, from, isInPlace, done }: Props) {
  const [email, setEmail] = useState(fixedEmail ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [factors, setFactors] = useState<string[]>([]); // that the login asks for after the right password
  const [fault, setFault] = useState<string | null>(null); // null: nothing was tried on this page
  const [busy, setBusy] = useState(false);
  const singleSignOn = useQuery(singleSignOnQuery).data;
  const refusal = fault ?? (isInPlace ? "" : singleSignOn?.refusal);

  const enter = async (session: Promise<Session | null>) => {
    setBusy(true);
    setFault("");
    try {
      const found = await session;
      if (found) await done(found);
    } catch (caught) {
      setFault(passkeyFault(caught) ?? asProblem(caught).message);
    } finally {
      setBusy(false);
    }
  };

  /**
   * A right password alone is answered with the second factors that are needed: a passkey is used at once; for a code,
   * the form asks (null).
   */
  const withPassword = async (): Promise<Session | null> => {
    try {
      return await data(api.POST("/api/v1/auth/login", { body: { email, password, code } }));
    } catch (caught) {
      const problem = asProblem(caught);
      if (problem.kind !== "code-required") throw caught;
      const wasAsked = factors.length > 0;
      setFactors(problem.more.factors as string[]);
      const offer = problem.more.passkey as Offer | null;
      if (offer && supportsPasskeys()) {
        const passkey = await signWithPasskey(offer);
        return await data(api.POST("/api/v1/auth/login", { body: { email, password, code: "", passkey } }));
      }
      if (wasAsked) throw caught;
      return null;
    }
  };

  const withPasskey = async (): Promise<Session> => {
    const offer = await data(api.POST("/api/v1/auth/login/passkey/options"));
    return await data(api.POST("/api/v1/auth/login/passkey", { body: { passkey: await signWithPasskey(offer) } }));
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation(); // React passes it on to a form around this one
    void enter(withPassword());
  };

  return (
    <>
      <form onSubmit={submit}>
        <Stack>
          {refusal && (
            <Alert color="red" role="alert">
              {refusal}
            </Alert>
          )}
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            value={email}
            readOnly={fixedEmail !== undefined}
            onChange={(event) => setEmail(event.currentTarget.value)}
            autoFocus={fixedEmail === undefined}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            data-autofocus={fixedEmail === undefined ? undefined : true}
          />
          {factors.length > 0 && (
            <TextInput
              label="Code"
              description={
                factors.includes("code")
                  ? "From your authenticator app, or a recovery code."
                  : "A recovery code. Leave it empty to use your passkey."
              }
              autoComplete="one-time-code"
              required={!factors.includes("passkey")}
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
              autoFocus
            />
          )}
          <Button type="submit" loading={busy} fullWidth>
            Sign in
          </Button>
          {supportsPasskeys() && (
            <Button variant="default" disabled={busy} fullWidth onClick={() => void enter(withPasskey())}>
              Sign in with a passkey
            </Button>
          )}
        </Stack>
      </form>
      {singleSignOn?.configured && (
        <>
          <Divider label="or" my="md" />
          <Button
            component="a"
            href={singleSignOnPath(isInPlace ? "/" : from)}
            variant="default"
            fullWidth
            {...(isInPlace ? { target: "_blank", rel: "noopener" } : {})}
          >
            Sign in with single sign-on
          </Button>
        </>
      )}
    </>
  );
}
