/** One execution: where it is and was, tick by tick; what happened; its log, proved and replayed; orders and events. */
import {
  Alert,
  Button,
  Card,
  Grid,
  Group,
  JsonInput,
  Menu,
  Slider,
  Stack,
  Tabs,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { IconChevronDown, IconChevronLeft, IconChevronRight, IconDownload, IconSend } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/session";
import {
  type ExecutionInFull,
  executionQuery,
  flowActs,
  graphQuery,
  momentsQuery,
  stateQuery,
  type Verb,
} from "../api/workflows";
import { JsonTree } from "../parts/BodyViewer";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { AnchorLink } from "../parts/links";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { save } from "../parts/save";
import { TabRow, tabOf } from "../parts/TabRow";
import { useAction } from "../parts/useAction";
import { When } from "../time/When";
import { actorWords } from "../words/actor";
import { ExecutionLog, ExecutionReplay } from "./workflow/ExecutionLog";
import { ExecutionStatus, isOver, standing } from "./workflow/ExecutionTable";
import { Moments, statesOf } from "./workflow/ExecutionTimeline";
import { FlowGraph } from "./workflow/FlowGraph";
import { readObject } from "./workflow/json";

const VERBS: Record<Verb, { label: string; about: string; color?: string; needsReason?: boolean }> = {
  pause: { label: "Pause", about: "Stops before the next step until resumed." },
  resume: { label: "Resume", about: "Continues where it stopped." },
  retry: { label: "Retry", about: "Runs the failed step again with the same idempotency key." },
  skip: { label: "Skip", about: "Continues after the step that failed or is waiting.", needsReason: true },
  cancel: {
    label: "Cancel",
    about: "Ends the execution permanently. Calls and messages that were not sent yet are withdrawn.",
    color: "red",
    needsReason: true,
  },
};

const TABS: [string, string][] = [
  ["timeline", "Timeline"],
  ["log", "Log and proof"],
  ["replay", "Replay"],
];

export function ExecutionDetail() {
  const { execution: id } = useParams({ from: "/inside/executions/$execution" });
  const { tab, version } = useSearch({ from: "/inside/executions/$execution" });
  const navigate = useNavigate();
  const found = useQuery(executionQuery(id));
  const mayRun = useMay("run");
  const [verb, setVerb] = useState<Verb | null>(null);
  const mayWrite = useMay("write");
  const [sending, setSending] = useState(false);
  const [erasing, setErasing] = useState(false);
  const erase = useAction(() => flowActs.erase(id, "requested in the web UI"), {
    done: "Values erased; the log can still be verified",
    after: () => setErasing(false),
  });
  const keep = useAction(() => save(`/api/v1/executions/${encodeURIComponent(id)}/export`, `${id}.json`), {
    onlyReads: true,
  });
  if (found.error && !found.data)
    return (
      <Page title="Execution">
        <Failed fault={found.error} retry={() => void found.refetch()} />
      </Page>
    );
  if (!found.data) return <PendingPage />;
  const execution = found.data;
  const isEnded = isOver(execution.status);
  const allowed = execution.allows.filter((each): each is Verb => each in VERBS);
  return (
    <Page
      title={execution.correlation || execution.id}
      heading={
        <Group gap="sm">
          {execution.correlation || "Execution"}
          <ExecutionStatus status={execution.status} />
        </Group>
      }
      about={
        <>
          <AnchorLink to="/workflows/$workflow" params={{ workflow: execution.workflow }} size="sm" underline="always">
            {execution.workflow}
          </AnchorLink>{" "}
          v{execution.version} · <span className="mono breaks">{execution.id}</span> · started{" "}
          <When at={execution.created_at} /> by {actorWords(execution.actor)}
        </>
      }
      actions={
        <>
          {mayRun && !isEnded && (
            <Button variant="default" leftSection={<IconSend size={16} />} onClick={() => setSending(true)}>
              Send event
            </Button>
          )}
          {mayRun &&
            allowed.map((each) => (
              <Button
                key={each}
                variant={each === "retry" || each === "resume" ? "filled" : "default"}
                color={VERBS[each].color}
                onClick={() => setVerb(each)}
              >
                {VERBS[each].label}
              </Button>
            ))}
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default" rightSection={<IconChevronDown size={16} />}>
                More
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => keep.mutate(undefined)} leftSection={<IconDownload size={14} />}>
                Download with proof
              </Menu.Item>
              {mayWrite && isEnded && (
                <Menu.Item color="red" onClick={() => setErasing(true)}>
                  Erase values…
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      {execution.error && (
        <Alert color="red" title={`Step ${execution.step} failed and needs attention`} role="alert">
          <Text size="sm" className="breaks">
            {execution.error}
          </Text>
          {mayRun &&
            allowed.map((each) => (
              <Text key={each} size="sm" c="dimmed">
                <b>{VERBS[each].label}</b>: {VERBS[each].about}
              </Text>
            ))}
        </Alert>
      )}
      <Tabs
        value={tabOf(TABS, tab)}
        keepMounted={false}
        onChange={(value) =>
          void navigate({
            to: "/executions/$execution",
            params: { execution: id },
            search: { tab: value ?? "timeline" },
            replace: true,
          })
        }
      >
        <TabRow tabs={TABS} chosen={tabOf(TABS, tab)} />
        <Tabs.Panel value="timeline">
          <Scrubbed execution={execution} />
        </Tabs.Panel>
        <Tabs.Panel value="log">
          <ExecutionLog execution={execution} />
        </Tabs.Panel>
        <Tabs.Panel value="replay">
          <ExecutionReplay execution={execution} first={Number(version?.slice(1)) || execution.version} />
        </Tabs.Panel>
      </Tabs>
      {verb && <OrderForm execution={execution} verb={verb} close={() => setVerb(null)} />}
      <Confirm
        opened={erasing}
        onClose={() => setErasing(false)}
        title="Erase values?"
        verb="Erase permanently"
        danger
        busy={erase.isPending}
        onConfirm={() => erase.mutate(undefined)}
      >
        All inputs, requests and responses are removed from the log. The hashes stay, so the log can still be verified.
        This cannot be undone.
      </Confirm>
      {sending && <SendForm execution={execution} close={() => setSending(false)} />}
    </Page>
  );
}

/** The graph and the values as of a tick; the last one follows the execution. */
function Scrubbed({ execution }: { execution: ExecutionInFull }) {
  const [tick, setTick] = useState<number | null>(null);
  const state = useQuery(stateQuery(execution.id, execution.entries, tick));
  const graph = useQuery(graphQuery(execution.workflow, execution.version));
  const moments = useQuery(momentsQuery(execution.id, execution.entries));
  const ticks = state.data?.ticks ?? [];
  const place =
    tick === null
      ? ticks.length - 1
      : Math.max(
          ticks.findLastIndex((each) => each <= tick),
          0,
        );
  const go = (to: number) => setTick(to >= ticks.length - 1 ? null : (ticks[to] ?? null));
  const shown = state.data?.tick ?? Infinity;
  return (
    <Stack>
      <Card>
        <Group wrap="nowrap" gap="sm">
          <Button
            size="xs"
            variant="default"
            px={8}
            aria-label="Previous tick"
            disabled={place <= 0}
            onClick={() => go(place - 1)}
          >
            <IconChevronLeft size={16} />
          </Button>
          <Slider
            style={{ flex: 1 }}
            min={0}
            max={Math.max(ticks.length - 1, 1)}
            value={Math.max(place, 0)}
            disabled={ticks.length < 2}
            label={null}
            thumbLabel="Tick"
            onChange={go}
          />
          <Button
            size="xs"
            variant="default"
            px={8}
            aria-label="Next tick"
            disabled={place >= ticks.length - 1}
            onClick={() => go(place + 1)}
          >
            <IconChevronRight size={16} />
          </Button>
          <Text size="sm" className="nowrap tabular" component="span">
            {tick === null ? "now" : <When at={state.data?.at} mode="local" />}
          </Text>
        </Group>
        <Text size="sm" mt={6} role="status">
          {state.data ? standing(state.data) : ""}
        </Text>
      </Card>
      {state.error ? <Failed fault={state.error} retry={() => void state.refetch()} /> : null}
      <Grid>
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Card>
            {graph.error ? <Failed fault={graph.error} /> : null}
            {graph.data && <FlowGraph graph={graph.data} states={statesOf(state.data)} />}
          </Card>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack>
            <Card>
              <Title order={2} mb="sm">
                Timeline
              </Title>
              {moments.error ? <Failed fault={moments.error} /> : null}
              <Moments moments={moments.data?.items ?? []} shown={shown} />
            </Card>
            <Card>
              <Title order={2} mb="sm">
                State at this point
              </Title>
              {state.data && (
                <JsonTree
                  value={{
                    input: state.data.input,
                    vars: state.data.vars,
                    steps: state.data.steps,
                    events: state.data.events,
                  }}
                />
              )}
            </Card>
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

function OrderForm({ execution, verb, close }: { execution: ExecutionInFull; verb: Verb; close: () => void }) {
  const [reason, setReason] = useState("");
  const about = VERBS[verb];
  const act = useAction(() => flowActs.order(execution.id, verb, reason), {
    done: `${about.label}: taken in the next tick`,
    after: close,
  });
  return (
    <Dialog onClose={close} title={`${about.label} ${execution.correlation || "this execution"}`}>
      <Stack>
        <Text size="sm">{about.about}</Text>
        <Textarea
          label="Reason"
          description="Recorded in the log."
          required={!!about.needsReason}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
          autosize
          minRows={2}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Back
          </Button>
          <Button
            color={about.color}
            disabled={!!about.needsReason && !reason.trim()}
            loading={act.isPending}
            onClick={() => act.mutate(undefined)}
          >
            {about.label}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function SendForm({ execution, close }: { execution: ExecutionInFull; close: () => void }) {
  const [type, setType] = useState("");
  const [text, setText] = useState("{}");
  const parsed = readObject(text);
  const send = useAction(() => flowActs.send({ to: execution.id, type, data: parsed ?? {} }), {
    done: "Event sent; processed at the next tick",
    after: close,
  });
  return (
    <Dialog onClose={close} title="Send an event">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="Type"
            placeholder="reply"
            value={type}
            onChange={(event) => setType(event.currentTarget.value)}
            data-autofocus
            required
          />
          <JsonInput
            label="Data"
            value={text}
            onChange={setText}
            autosize
            minRows={3}
            error={parsed ? undefined : "Not a JSON object"}
            classNames={{ input: "mono" }}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Back
            </Button>
            <Button type="submit" disabled={!type.trim() || !parsed} loading={send.isPending}>
              Send
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
