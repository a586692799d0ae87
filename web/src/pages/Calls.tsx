/** Calls: URLs that are called once, now or at a time. */
import { Badge, Button, Card, Group, Select, Stack, Table, TextInput } from "@mantine/core";
import { IconPhoneCall, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { callActs } from "../api/actions";
import { asProblem } from "../api/client";
import { callsQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Call, CallFilters } from "../api/types";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { AnchorLink } from "../parts/links";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { useAction } from "../parts/useAction";
import { When } from "../time/When";
import { COLOR, runTone, type Tone } from "../words/state";

const STATES: NonNullable<CallFilters["state"]>[] = ["waiting", "done", "cancelled"];
const TONES: Record<Call["status"], Tone> = {
  waiting: "calm",
  running: "calm",
  retrying: "warn",
  done: "good",
  cancelled: "idle",
};

export function Calls() {
  const filters = useSearch({ from: "/inside/calls" });
  const navigate = useNavigate({ from: "/calls" });
  const mayWrite = useMay("write");
  const list = useInfiniteQuery(callsQuery(filters));
  const [isNew, setNew] = useState(false);
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const set = (change: CallFilters) => void navigate({ to: "/calls", search: change, replace: true });
  return (
    <Page
      title="Calls"
      about="Each call is one URL, called once, now or at a time."
      actions={
        mayWrite && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => setNew(true)}>
            New call
          </Button>
        )
      }
    >
      <Select
        placeholder="Any state"
        aria-label="Filter by state"
        w={170}
        clearable
        data={STATES}
        value={filters.state ?? null}
        onChange={(state) => set(state ? { state: STATES.find((each) => each === state) } : {})}
      />
      {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Pending /> : null}
      {list.data &&
        !items.length &&
        (filters.state ? (
          <Empty
            icon={IconSearch}
            title="No matches"
            action={
              <Button variant="default" onClick={() => set({})}>
                Clear filters
              </Button>
            }
          >
            No call is {filters.state}.
          </Empty>
        ) : (
          <Empty
            icon={IconPhoneCall}
            title="No calls yet"
            command="mainspring call add https://example.com/ --at 'in 10m'"
          >
            Programs create calls through the API. A done call is deleted after its retention.
          </Empty>
        ))}
      {items.length > 0 && (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Call</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Time</Table.Th>
                <Table.Th>Last attempt</Table.Th>
                {mayWrite && <Table.Th>Actions</Table.Th>}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((call) => (
                <Row key={call.id} call={call} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {list.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more calls
          </Button>
        </Group>
      )}
      {isNew && <CallForm close={() => setNew(false)} />}
    </Page>
  );
}

function Row({ call }: { call: Call }) {
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState(false);
  const cancel = useAction(() => callActs.cancel(call.id), {
    done: `${call.key} is cancelled`,
    after: () => setAsked(false),
  });
  return (
    <Table.Tr>
      <Table.Td className="stack-title title-cell">
        <div>
          <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: call.id }} fw={600} size="sm" className="breaks">
            {call.key}
          </AnchorLink>
          <div className="clip small" title={call.target}>
            {call.target}
          </div>
        </div>
      </Table.Td>
      <Table.Td data-label="State">
        <Badge color={COLOR[TONES[call.status]]} tt="none">
          {call.status}
        </Badge>
      </Table.Td>
      <Table.Td data-label="Time">
        <When at={call.at} />
      </Table.Td>
      <Table.Td data-label="Last attempt">
        {call.last_status ? (
          <Badge color={COLOR[runTone(call.last_status)]} tt="none">
            {call.last_status}
          </Badge>
        ) : (
          <span className="quiet">none</span>
        )}
      </Table.Td>
      {mayWrite && (
        <Table.Td>
          {(call.status === "waiting" || call.status === "retrying") && (
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              aria-label={`Cancel call ${call.key}`}
              onClick={() => setAsked(true)}
            >
              Cancel call
            </Button>
          )}
          <Confirm
            opened={asked}
            onClose={() => setAsked(false)}
            title={`Cancel ${call.key}?`}
            verb="Cancel call"
            danger
            busy={cancel.isPending}
            onConfirm={() => cancel.mutate(undefined)}
          >
            The call is not made. Its key stays in use until the call is deleted after its retention.
          </Confirm>
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function CallForm({ close }: { close: () => void }) {
  const [url, setUrl] = useState("");
  const [at, setAt] = useState("in 10m");
  const [key, setKey] = useState("");
  const save = useAction(() => callActs.create({ url, at: at.trim() || null, key: key.trim() || null }), {
    done: "Call created",
    after: close,
    quiet: true,
  });
  const fault = save.error ? asProblem(save.error) : null;
  return (
    <Dialog onClose={close} title="New call">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="URL"
            required
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
            error={fault?.of("calls/0/url")}
          />
          <TextInput
            label="Time"
            description="2030-01-31T08:00:00Z, or in 10m; now if empty"
            value={at}
            onChange={(event) => setAt(event.currentTarget.value)}
            error={fault?.of("calls/0/at")}
          />
          <TextInput
            label="Key"
            description="Two calls with the same key are one call"
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
            error={fault?.of("calls/0/key") ?? (fault && !fault.faults.length ? fault.message : undefined)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Create call
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
