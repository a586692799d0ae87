/** Where a heartbeat is pinged: its URL, how a job uses it, and how it is replaced or ended. */
import { Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { acts } from "../../api/actions";
import { pingUrlQuery } from "../../api/queries";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Confirm } from "../../parts/Confirm";
import { Command, Failed } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";

export function PingUrlCard({ endpoint }: { endpoint: Endpoint }) {
  const mayWrite = useMay("write");
  const found = useQuery({ ...pingUrlQuery(endpoint.id), enabled: mayWrite });
  const [asked, setAsked] = useState<"rotate" | "revoke" | null>(null);
  const after = () => {
    setAsked(null);
    void found.refetch();
  };
  const rotate = useAction(() => acts.createPingUrl(endpoint.id), { done: "Ping URL created", after });
  const revoke = useAction(() => acts.revokePingUrl(endpoint.id), { done: "Ping URL revoked", after });
  if (!mayWrite || endpoint.status === "archived") return null;
  const url = found.data?.url;
  return (
    <Card>
      <Title order={2} mb="sm">
        Ping URL
      </Title>
      {found.error ? <Failed fault={found.error} retry={() => void found.refetch()} /> : null}
      {found.data && !url && (
        <Stack gap="sm" align="flex-start">
          <Text size="sm">The endpoint has no ping URL yet.</Text>
          <Button size="xs" loading={rotate.isPending} onClick={() => rotate.mutate(undefined)}>
            Create ping URL
          </Button>
        </Stack>
      )}
      {url && (
        <Stack gap="sm">
          <Text size="sm">
            A job sends a request to this URL when it has ended. Any program that has the URL can ping the endpoint.
            Created <When at={found.data?.created_at} />.
          </Text>
          <Command text={url} />
          <Text size="sm">In a crontab, this reports the start, the end, the exit code and the output:</Text>
          <Command text={`mainspring exec '${endpoint.name}' --url ${url} -- PROGRAM`} />
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => setAsked("rotate")}>
              Rotate URL…
            </Button>
            <Button size="xs" variant="default" color="red" onClick={() => setAsked("revoke")}>
              Revoke URL…
            </Button>
          </Group>
        </Stack>
      )}
      <Confirm
        opened={asked === "rotate"}
        onClose={() => setAsked(null)}
        title="Rotate the ping URL?"
        verb="Rotate URL"
        danger
        busy={rotate.isPending}
        onConfirm={() => rotate.mutate(undefined)}
      >
        The present URL ends at once. Jobs that use it are reported as missed until they have the new one.
      </Confirm>
      <Confirm
        opened={asked === "revoke"}
        onClose={() => setAsked(null)}
        title="Revoke the ping URL?"
        verb="Revoke URL"
        danger
        busy={revoke.isPending}
        onConfirm={() => revoke.mutate(undefined)}
      >
        Pings are refused until another URL is created, and the endpoint is reported as missed.
      </Confirm>
    </Card>
  );
}
