/** What became of each message to a webhook or of an alert: when, how often it was tried, what the receiver said. */
import { Alert, Badge, Button, Drawer, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Delivery, deliveriesQuery, deliveryQuery, type Subscriber, webhookActs } from "../../api/notifications";
import { useMay } from "../../api/session";
import { Failed, Pending } from "../../parts/Outcomes";
import { Total } from "../../parts/Total";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { took } from "../../words/duration";
import { COLOR, type Tone } from "../../words/state";

const TONES: Record<Delivery["status"], Tone> = {
  pending: "calm",
  delivered: "good",
  failed: "bad",
  held: "warn",
  digested: "idle",
  dropped: "idle",
};

export function Deliveries({ of, close }: { of: Subscriber; close: () => void }) {
  const list = useInfiniteQuery(deliveriesQuery(of));
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={`Deliveries for ${of.name}`}>
      <Stack gap="sm">
        {!of.enabled && (
          <Alert color="orange" role="note" title={`The ${of.kind} is off`}>
            Nothing is sent. Pending messages are sent when it is turned on; events in the meantime create no messages.
          </Alert>
        )}
        {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
        {list.isPending && <Pending />}
        {list.data && !items.length && (
          <Text size="sm" c="dimmed">
            No deliveries yet. Test messages are not listed.
          </Text>
        )}
        {items.length > 0 && <Total total={list.data?.pages[0]?.total} one="delivery" many="deliveries" />}
        {items.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} isOff={!of.enabled} />
        ))}
        {list.hasNextPage && (
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more
          </Button>
        )}
      </Stack>
    </Drawer>
  );
}

function Row({ delivery, isOff }: { delivery: Delivery; isOff: boolean }) {
  const mayRun = useMay("run");
  const [open, setOpen] = useState(false);
  const again = useAction(() => webhookActs.redeliver(delivery.id), { done: "Sent again" });
  const isOver = delivery.status === "failed" || delivery.status === "delivered";
  return (
    <div className="delivery" style={{ borderBottom: "1px solid var(--grid)", paddingBottom: 10 }}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <Badge color={COLOR[TONES[delivery.status]]} tt="none">
            {delivery.status}
            {delivery.status_code ? ` ${delivery.status_code}` : ""}
          </Badge>
          <Text size="sm" className="mono">
            {delivery.type}
          </Text>
        </Group>
        <Text size="sm" c="dimmed" component="span">
          <When at={delivery.created_at} />
        </Text>
      </Group>
      <Text size="xs" c="dimmed" mt={4} className="breaks" component="div">
        {delivery.channel && <>to {delivery.channel} · </>}
        {delivery.attempts === 1 ? "1 attempt" : `${delivery.attempts} attempts`}
        {delivery.duration_ms !== null && `, the last took ${took(delivery.duration_ms)}`}
        {delivery.next_attempt_at &&
          (isOff ? (
            ", not sent while this is off"
          ) : (
            <>
              , next <When at={delivery.next_attempt_at} />
            </>
          ))}
      </Text>
      {delivery.error && (
        <Text size="sm" c="red" className="breaks" mt={4}>
          {delivery.error}
        </Text>
      )}
      <Group gap={6} mt={6}>
        <Button size="compact-xs" variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide message" : "Show message"}
        </Button>
        {mayRun && isOver && !isOff && (
          <Button size="compact-xs" variant="default" loading={again.isPending} onClick={() => again.mutate(undefined)}>
            Send again
          </Button>
        )}
      </Group>
      {open && <Message delivery={delivery} />}
    </div>
  );
}

function Message({ delivery }: { delivery: Delivery }) {
  const whole = useQuery(deliveryQuery(delivery.id));
  if (whole.error) return <Failed fault={whole.error} retry={() => void whole.refetch()} />;
  return (
    <Stack gap={6} mt="xs">
      <pre className="raw" tabIndex={0} aria-label="Message">
        {whole.data ? JSON.stringify(whole.data.payload, null, 2) : "Loading…"}
      </pre>
      {delivery.response && (
        <>
          <Text size="xs" c="dimmed">
            Response
          </Text>
          <pre className="raw" tabIndex={0} aria-label="Response">
            {delivery.response}
          </pre>
        </>
      )}
      <Text size="xs" c="dimmed" className="breaks">
        Id <span className="mono">{delivery.id}</span>, the same in every attempt
      </Text>
    </Stack>
  );
}
