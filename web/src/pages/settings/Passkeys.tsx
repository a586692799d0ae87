import { Button, Card, Group, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, asProblem, data } from "../../api/client";
import { createPasskey, passkeyFault, supportsPasskeys } from "../../api/passkeys";
import { ShownOnce } from "../../parts/ShownOnce";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";

/** What is asked for before something is changed: the password, and a name where one is given. */
type Asking = { act: "add" | "rename" | "remove"; id: string };

export function Passkeys() {
  const passkeys = useQuery({
    queryKey: ["settings", "passkeys"],
    queryFn: () => data(api.GET("/api/v1/auth/passkeys")),
  });
  const [asking, setAsking] = useState<Asking | null>(null);
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const [codes, setCodes] = useState<string[]>([]);
  const close = () => {
    setAsking(null);
    setPassword("");
    setName("");
  };
  const act = useAction(
    async () => {
      if (asking?.act === "remove")
        return void (await data(
          api.POST("/api/v1/auth/passkeys/{passkey}/remove", {
            params: { path: { passkey: asking.id } },
            body: { password },
          }),
        ));
      if (asking?.act === "rename")
        return void (await data(
          api.PATCH("/api/v1/auth/passkeys/{passkey}", { params: { path: { passkey: asking.id } }, body: { name } }),
        ));
      const offer = await data(api.POST("/api/v1/auth/passkeys/options", { body: { password } }));
      const added = await data(api.POST("/api/v1/auth/passkeys", { body: { name, ...(await createPasskey(offer)) } }));
      setCodes(added.recovery_codes);
    },
    {
      done:
        asking?.act === "remove" ? "Passkey removed" : asking?.act === "rename" ? "Passkey renamed" : "Passkey added",
      quiet: true,
      after: close,
    },
  );
  if (!passkeys.data) return null;
  const { items } = passkeys.data;
  const unavailable =
    passkeys.data.unavailable ??
    (supportsPasskeys() ? null : "This browser does not support passkeys at this address.");
  const open = (next: Asking, named = "") => {
    act.reset();
    setPassword("");
    setName(named);
    setAsking(next);
  };
  const fault = act.error ? (passkeyFault(act.error) ?? asProblem(act.error).message) : null;
  return (
    <Card>
      <Title order={2} mb="sm">
        Passkeys
      </Title>
      <Stack gap="sm">
        <Text size="sm">
          {items.length
            ? "Signing in requires a passkey after the password. A passkey with a PIN or biometrics also signs in without the password."
            : "A passkey on your device or security key proves that it is you. It cannot be guessed or phished."}
        </Text>
        {unavailable && (
          <Text size="sm" c="dimmed" role="status">
            {unavailable}
          </Text>
        )}
        {codes.length > 0 && (
          <ShownOnce what="Recovery codes" secret={codes.join(" ")}>
            Each code works once, without a passkey. Store them with your passwords.
          </ShownOnce>
        )}
        {items.map((each) => (
          <Group key={each.id} justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" className="breaks">
                {each.name}
                {each.usable ? "" : " (not usable)"}
              </Text>
              <Text size="xs" c="dimmed">
                added <When at={each.created_at} />
                {each.used_at && (
                  <>
                    , last used <When at={each.used_at} />
                  </>
                )}
              </Text>
            </div>
            <Group gap={4} wrap="nowrap">
              <Button
                size="compact-sm"
                variant="subtle"
                aria-label={`Rename passkey ${each.name}`}
                onClick={() => open({ act: "rename", id: each.id }, each.name)}
              >
                Rename
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                aria-label={`Remove passkey ${each.name}`}
                onClick={() => open({ act: "remove", id: each.id })}
              >
                Remove
              </Button>
            </Group>
          </Group>
        ))}
        {!asking && !unavailable && (
          <Group>
            <Button variant="default" onClick={() => open({ act: "add", id: "" })}>
              Add passkey
            </Button>
          </Group>
        )}
        {asking && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              act.mutate(undefined);
            }}
          >
            <Stack gap="sm">
              {asking.act !== "remove" && (
                <TextInput
                  label="Passkey name"
                  description="For example: work laptop"
                  required
                  value={name}
                  onChange={(event) => setName(event.currentTarget.value)}
                />
              )}
              {asking.act !== "rename" && (
                <PasswordInput
                  label="Your password"
                  autoComplete="current-password"
                  required
                  value={password}
                  onChange={(event) => setPassword(event.currentTarget.value)}
                />
              )}
              {fault && (
                <Text size="sm" c="red" role="alert">
                  {fault}
                </Text>
              )}
              <Group>
                <Button type="submit" color={asking.act === "remove" ? "red" : undefined} loading={act.isPending}>
                  {asking.act === "add"
                    ? "Create passkey"
                    : asking.act === "rename"
                      ? "Rename passkey"
                      : "Remove passkey"}
                </Button>
                <Button variant="subtle" color="gray" onClick={close}>
                  Cancel
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Stack>
    </Card>
  );
}
