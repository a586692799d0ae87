/**
 * One act over the endpoints that are selected, or over all that match the filter; told in numbers before it is done.
 */
import { Button, Card, Group, Menu, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconChevronDown, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type BulkVerb, bulkAct, type Chosen, type Pause } from "../../api/actions";
import { asProblem } from "../../api/client";
import { useMay } from "../../api/session";
import { mayHaveChanged, takeWritten } from "../../api/written";
import { Dialog } from "../../parts/Dialog";
import { Failed } from "../../parts/Outcomes";
import { PauseEnd } from "../endpoint/PauseForm";

const WORDS: Record<BulkVerb, { verb: string; done: string; warning?: string }> = {
  run: { verb: "Run now", done: "requested to run" },
  pause: { verb: "Pause", done: "paused" },
  resume: { verb: "Resume", done: "resumed" },
  "clear-hints": { verb: "Clear hints", done: "cleared" },
  "reset-failures": { verb: "Reset failures", done: "reset" },
  archive: { verb: "Archive", done: "archived", warning: "They keep their history but never run again." },
};

type Props = { chosen: Chosen; count: number; offerAll: boolean; takeAll: () => void; clear: () => void };

export function Bulk({ chosen, count, offerAll, takeAll, clear }: Props) {
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<BulkVerb | null>(null);
  const isAll = "matching" in chosen;
  const button = (verb: BulkVerb, icon?: React.ReactNode) => (
    <Button size="xs" variant="default" leftSection={icon} onClick={() => setAsked(verb)}>
      {WORDS[verb].verb}
    </Button>
  );
  return (
    <Card padding="xs" className="selection" role="region" aria-label="Selection">
      <Group gap="xs">
        <Text size="sm" fw={600} mr="xs">
          {isAll ? "All matching" : `${count.toLocaleString()} selected`}
        </Text>
        {offerAll && (
          <Button size="xs" variant="light" onClick={takeAll}>
            Select all matching
          </Button>
        )}
        {button("run", <IconPlayerPlay size={14} />)}
        {button("pause", <IconPlayerPause size={14} />)}
        {button("resume")}
        <Menu>
          <Menu.Target>
            <Button size="xs" variant="default" rightSection={<IconChevronDown size={14} />}>
              More
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => setAsked("clear-hints")}>Clear hints</Menu.Item>
            <Menu.Item onClick={() => setAsked("reset-failures")}>Reset failures</Menu.Item>
            {mayWrite && (
              <Menu.Item color="red" onClick={() => setAsked("archive")}>
                Archive…
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
        <Button size="xs" variant="subtle" color="gray" onClick={clear}>
          Clear selection
        </Button>
      </Group>
      {asked && (
        <Ask
          verb={asked}
          chosen={chosen}
          close={() => setAsked(null)}
          done={() => {
            setAsked(null);
            clear();
          }}
        />
      )}
    </Card>
  );
}

function Ask({ verb, chosen, close, done }: { verb: BulkVerb; chosen: Chosen; close: () => void; done: () => void }) {
  const client = useQueryClient();
  const words = WORDS[verb];
  const [end, setEnd] = useState<Pause>({});
  const [reason, setReason] = useState("");
  const [acting, setActing] = useState<number | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const pause: Pause = { reason, ...end };
  const would = useQuery({
    queryKey: ["bulk", verb, chosen],
    queryFn: () => bulkAct(verb, chosen, {}, true),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const go = async () => {
    setActing(0);
    setFault(null);
    try {
      const total = await bulkAct(verb, chosen, pause, false, setActing);
      notifications.show({
        title: `${total.changed.toLocaleString()} ${words.done}${total.refused ? `, ${total.refused.toLocaleString()} refused` : ""}`,
        message: total.first,
        color: total.refused ? "orange" : "green",
        autoClose: total.refused ? 10_000 : 5000,
      });
      done();
    } catch (caught) {
      setFault(caught);
    } finally {
      setActing(null);
      const written = takeWritten();
      void client.invalidateQueries({ predicate: ({ queryKey }) => mayHaveChanged(written, queryKey) });
    }
  };
  return (
    <Dialog onClose={close} title={`${words.verb}?`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <Stack>
          {would.error ? <Failed fault={would.error} /> : null}
          <Text size="sm" aria-live="polite">
            {would.data
              ? `${would.data.changed.toLocaleString()} of ${would.data.matched.toLocaleString()} would change.`
              : would.error
                ? ""
                : "Counting changes…"}
            {would.data && would.data.refused > 0 && ` ${would.data.refused.toLocaleString()} would refuse.`}{" "}
            {words.warning}
          </Text>
          {would.data?.first && (
            <Text size="sm" c="dimmed" className="breaks">
              {would.data.first}
            </Text>
          )}
          {verb === "pause" && <PauseEnd set={setEnd} />}
          {verb === "pause" && (
            <TextInput
              label="Reason"
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              error={fault ? asProblem(fault).of("reason") : undefined}
            />
          )}
          {fault ? <Failed fault={fault} /> : null}
          <Group justify="flex-end">
            {acting !== null && (
              <Text size="sm" c="dimmed" className="tabular" role="status">
                {acting.toLocaleString()} done
              </Text>
            )}
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button
              type="submit"
              color={verb === "archive" ? "red" : undefined}
              loading={acting !== null}
              disabled={!would.data?.changed}
              data-autofocus
            >
              {words.verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
