/** One order over all executions that match the filter; how many it would reach is told before it is given. */
import { Button, Group, Menu, Stack, Text, TextInput } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ExecutionFilters } from "../../api/types";
import { type BulkCommand, flowActs, type Verb } from "../../api/workflows";
import { Dialog } from "../../parts/Dialog";
import { Failed } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";

const VERBS: { verb: Verb; label: string; needsReason?: true }[] = [
  { verb: "retry", label: "Retry" },
  { verb: "resume", label: "Resume" },
  { verb: "pause", label: "Pause" },
  { verb: "skip", label: "Skip step", needsReason: true },
  { verb: "cancel", label: "Cancel", needsReason: true },
];

export function BulkCommands({ filters }: { filters: ExecutionFilters }) {
  const [asked, setAsked] = useState<(typeof VERBS)[number] | null>(null);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={16} />}>
            All matching
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {VERBS.map((each) => (
            <Menu.Item
              key={each.verb}
              color={each.verb === "cancel" ? "red" : undefined}
              onClick={() => setAsked(each)}
            >
              {each.label}…
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {asked && <Ask asked={asked} filters={filters} close={() => setAsked(null)} />}
    </>
  );
}

function Ask({
  asked,
  filters,
  close,
}: {
  asked: (typeof VERBS)[number];
  filters: ExecutionFilters;
  close: () => void;
}) {
  const [reason, setReason] = useState("");
  const { status, ...rest } = filters;
  const order: BulkCommand = {
    ...rest,
    ...(status && status !== "attention" ? { status } : {}),
    verb: asked.verb,
    reason: reason.trim() || "requested in the web UI",
  };
  const would = useQuery({
    queryKey: ["bulk", "executions", asked.verb, filters],
    queryFn: () => flowActs.rehearseMany(order),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const give = useAction(() => flowActs.orderMany({ ...order, reason: reason.trim() }), {
    done: (found) =>
      `${asked.label}: ${found.ordered.toLocaleString()} commands sent${found.more ? "; more executions match" : ""}`,
    after: close,
  });
  const count = would.data?.count ?? 0;
  return (
    <Dialog onClose={close} title={`${asked.label}all matching executions`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          give.mutate(undefined);
        }}
      >
        <Stack>
          {would.error ? (
            <Failed fault={would.error} />
          ) : (
            <Text size="sm">
              {would.data ? (
                count ? (
                  <>
                    <b>{count.toLocaleString()}</b> {count === 1 ? "execution allows" : "executions allow"} this
                    command.
                  </>
                ) : (
                  "None of the matching executions allows this command."
                )
              ) : (
                "Counting…"
              )}
            </Text>
          )}
          <TextInput
            label="Reason"
            description="Recorded in each log."
            required={!!asked.needsReason}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Back
            </Button>
            <Button
              type="submit"
              color={asked.verb === "cancel" ? "red" : undefined}
              loading={give.isPending}
              disabled={!count || (!!asked.needsReason && !reason.trim())}
            >
              {asked.label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
