/** The form of a connection: only the fields of the chosen kind of credentials are shown and sent. */
import { Button, Group, NativeSelect, PasswordInput, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type Connection, type ConnectionPatch, connectionActs } from "../../api/connections";
import { Dialog } from "../../parts/Dialog";
import { useAction } from "../../parts/useAction";

const MASK = "••••"; // the API shows it in place of a secret
type Name = Exclude<keyof ConnectionPatch, "auth" | "tls_min">;
type Draft = Record<Name, string> & { auth: string; tls_min: string };

const KINDS: { value: string; label: string; fields: Name[]; secret: string }[] = [
  { value: "none", label: "None", fields: [], secret: "" },
  { value: "header", label: "Header", fields: ["header", "secret"], secret: "Value" },
  { value: "basic", label: "Basic", fields: ["username", "secret"], secret: "Password" },
  { value: "digest", label: "Digest", fields: ["username", "secret"], secret: "Password" },
  {
    value: "oauth2",
    label: "OAuth2 client credentials",
    fields: ["token_url", "client_id", "secret", "scope", "audience"],
    secret: "Client secret",
  },
  {
    value: "aws",
    label: "AWS Signature Version 4",
    fields: ["access_key_id", "region", "service", "secret"],
    secret: "Secret access key",
  },
];
/** A setting that the API learns fails the type check here until it has its label. */
const LABELS: Record<Name, string> = {
  base_url: "Base URL",
  description: "Description",
  header: "Header",
  secret: "Secret",
  username: "User name",
  token_url: "Token URL",
  client_id: "Client ID",
  scope: "Scopes",
  audience: "Audience",
  access_key_id: "Access key ID",
  region: "Region",
  service: "Service",
  ca: "Certificate authority",
  client_certificate: "Client certificate",
  client_key: "Client key",
  proxy: "Proxy",
};
const NAMES = Object.keys(LABELS) as Name[];
const OPTIONAL: Name[] = ["scope", "audience"];
const SHARED: Name[] = ["base_url", "description", "ca", "client_certificate", "client_key", "proxy"];

function draftOf(connection?: Connection): Draft {
  const values = Object.fromEntries(NAMES.map((name) => [name, String(connection?.[name] ?? "")]));
  return {
    ...(values as Record<Name, string>),
    auth: connection?.auth ?? "header",
    tls_min: connection?.tls_min ?? "1.2",
  };
}

/** Fields of other kinds are sent as null, so that they are cleared. */
function sent(draft: Draft, fields: Name[]): ConnectionPatch {
  const used = new Set([...SHARED, ...fields]);
  const values = Object.fromEntries(NAMES.map((name) => [name, (used.has(name) && draft[name]) || null]));
  return { ...values, auth: draft.auth, tls_min: draft.tls_min } as ConnectionPatch;
}

export function ConnectionForm({ connection, close }: { connection?: Connection; close: () => void }) {
  const [name, setName] = useState("");
  const [draft, setDraft] = useState(() => draftOf(connection));
  const kind = KINDS.find((each) => each.value === draft.auth);
  const request = sent(draft, kind?.fields ?? []);
  const save = useAction(
    () =>
      connection
        ? connectionActs.update(connection.id, request)
        : connectionActs.create({ ...request, name, base_url: draft.base_url }),
    { done: "Saved", quiet: true, after: close },
  );
  const fault = save.error ? asProblem(save.error) : null;
  const text = (field: Name) => ({
    label: field === "secret" ? (kind?.secret ?? "") : LABELS[field],
    value: draft[field],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setDraft((old) => ({ ...old, [field]: value }));
    },
    error: fault?.of(field),
  });
  return (
    <Dialog onClose={close} title={connection ? `Edit ${connection.name}` : "New connection"} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          {!connection && (
            <TextInput
              label="Name"
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fault?.of("name")}
              data-autofocus
            />
          )}
          <TextInput {...text("base_url")} required type="url" placeholder="https://billing.example.com/v1" />
          <TextInput {...text("description")} />
          <NativeSelect
            label="Credentials"
            data={KINDS.map(({ value, label }) => ({ value, label }))}
            value={draft.auth}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setDraft((old) => ({ ...old, auth: value, secret: old.secret === MASK ? "" : old.secret }));
            }}
            error={fault?.of("auth")}
          />
          {kind?.fields.map((field) =>
            field === "secret" ? (
              <PasswordInput
                key={field}
                {...text(field)}
                required
                autoComplete="off"
                description={stored(draft.secret)}
              />
            ) : (
              <TextInput
                key={field}
                {...text(field)}
                required={!OPTIONAL.includes(field)}
                placeholder={field === "header" ? "Authorization" : undefined}
              />
            ),
          )}
          <NativeSelect
            label="Minimum TLS version"
            data={["1.2", "1.3"]}
            value={draft.tls_min}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setDraft((old) => ({ ...old, tls_min: value }));
            }}
          />
          <Textarea
            {...text("ca")}
            autosize
            minRows={2}
            maxRows={6}
            classNames={{ input: "mono" }}
            description="PEM; empty: the system's"
          />
          <Textarea
            {...text("client_certificate")}
            autosize
            minRows={2}
            maxRows={6}
            classNames={{ input: "mono" }}
            description="PEM"
          />
          {draft.client_certificate && (
            <Textarea
              {...text("client_key")}
              autosize
              minRows={2}
              maxRows={6}
              classNames={{ input: "mono" }}
              description={stored(draft.client_key) ?? "PEM"}
            />
          )}
          <TextInput {...text("proxy")} description="Name of a proxy that the operator allows" />
          {fault && !fault.faults.some((each) => each.pointer) && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              {connection ? "Save" : "Create connection"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

const stored = (value: string): string | undefined =>
  value === MASK ? "Stored. Enter another value to replace it." : undefined;
