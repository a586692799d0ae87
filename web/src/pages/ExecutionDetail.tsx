/** One execution: where it is and was, tick by tick; what happened; its log, proved and replayed; orders and events. */
import {
  Alert,
  Badge,
  Button,
  Card,
  Grid,
  Group,
  JsonInput,
  Menu,
  Select,
  Slider,
  Stack,
  Table,
  Tabs,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { IconChevronDown, IconChevronLeft, IconChevronRight, IconDownload, IconSend } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/session";
import {
  type ExecutionInFull,
  executionQuery,
  flowActs,
  graphQuery,
  logQuery,
  momentsQuery,
  stateQuery,
  type Verb,
  versionsQuery,
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
          <Log execution={execution} />
        </Tabs.Panel>
        <Tabs.Panel value="replay">
          <Replay execution={execution} first={Number(version?.slice(1)) || execution.version} />
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

const many = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : more}`;

function Log({ execution }: { execution: ExecutionInFull }) {
  const log = useQuery(logQuery(execution.id, execution.entries));
  const verify = useMutation({ mutationFn: () => flowActs.verify(execution.id) });
  const verdict = verify.data;
  return (
    <Stack>
      <Group>
        <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
          Verify hash chain
        </Button>
        <Text size="sm" c="dimmed">
          Each entry contains the hash of the previous one, so any change is detected.
        </Text>
      </Group>
      {verify.error ? <Failed fault={verify.error} /> : null}
      {verdict &&
        (verdict.valid ? (
          <Alert color="green" title="Log verified" role="status">
            <Text size="sm">
              {many(verdict.entries, "entry", "entries")}, {many(verdict.ticks, "tick")} and{" "}
              {many(verdict.checkpoints, "signed checkpoint")} fit.
            </Text>
          </Alert>
        ) : (
          <Alert color="red" title="Log verification failed" role="alert">
            <Text size="sm" className="breaks">
              Entry {verdict.breach?.number}, {verdict.breach?.field}: expected {verdict.breach?.expected}, found{" "}
              {verdict.breach?.found}.
            </Text>
          </Alert>
        ))}
      {log.error ? <Failed fault={log.error} retry={() => void log.refetch()} /> : null}
      <Card padding={0}>
        <Table className="stacks" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>#</Table.Th>
              <Table.Th>When</Table.Th>
              <Table.Th>Step</Table.Th>
              <Table.Th>Action</Table.Th>
              <Table.Th>Output</Table.Th>
              <Table.Th>Hash</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {(log.data?.items ?? []).map((each) => (
              <Table.Tr key={each.number}>
                <Table.Td data-label="#">{each.number}</Table.Td>
                <Table.Td data-label="When" className="nowrap">
                  <When at={each.at} />
                  <div className="small tabular">tick {each.tick.toLocaleString()}</div>
                </Table.Td>
                <Table.Td data-label="Step">{each.step}</Table.Td>
                <Table.Td data-label="Action">{each.action}</Table.Td>
                <Table.Td data-label="Output" maw={360}>
                  <Text size="xs" className="mono breaks" lineClamp={3}>
                    {each.erased ? "erased" : JSON.stringify(each.output)}
                  </Text>
                </Table.Td>
                <Table.Td data-label="Hash">
                  <span className="mono" title={`${each.hash}\nbefore it ${each.previous}`}>
                    {each.hash.slice(0, 12)}
                  </span>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Card>
    </Stack>
  );
}

/** `first`: the version to begin with, as an address names it (`?version=v2`). */
function Replay({ execution, first }: { execution: ExecutionInFull; first: number }) {
  const versions = useQuery(versionsQuery(execution.workflow));
  const [version, setVersion] = useState(first);
  const replay = useMutation({
    mutationFn: () => flowActs.replay(execution.id, version === execution.version ? null : version),
  });
  const result = replay.data;
  return (
    <Stack>
      <Group align="flex-end">
        <Select
          label="With version"
          w={140}
          allowDeselect={false}
          value={String(version)}
          onChange={(value) => {
            setVersion(Number(value));
            replay.reset();
          }}
          data={(versions.data?.items ?? [{ version: execution.version }]).map((each) => ({
            value: String(each.version),
            label: `v${each.version}${each.version === execution.version ? " (original)" : ""}`,
          }))}
        />
        <Button loading={replay.isPending} onClick={() => replay.mutate()}>
          Replay
        </Button>
        <Text size="sm" c="dimmed" mb={8}>
          Runs the execution again from its log, without calls or waiting.
        </Text>
      </Group>
      {replay.error ? <Failed fault={replay.error} /> : null}
      {result && (
        <Alert
          color={result.identical ? "green" : "orange"}
          role="status"
          title={
            result.identical
              ? `Identical, ${result.steps.length === 1 ? "1 entry" : `all ${result.steps.length} entries`}`
              : many(result.diffs.length, "difference")
          }
        >
          {result.diffs.slice(0, 20).map((each) => (
            <Text size="sm" key={`${each.number}-${each.field}`} className="breaks">
              Entry {each.number}, {each.step}, {each.field}: expected {each.expected}, got {each.actual}
            </Text>
          ))}
        </Alert>
      )}
      {result && (
        <Card padding={0}>
          <Table verticalSpacing={4}>
            <Table.Tbody>
              {result.steps.map((each) => (
                <Table.Tr key={each.number}>
                  <Table.Td w={50}>{each.number}</Table.Td>
                  <Table.Td>{each.step}</Table.Td>
                  <Table.Td>
                    <Badge tt="none" miw={80} color={each.identical ? "green" : "orange"}>
                      {each.identical ? "identical" : "differs"}
                    </Badge>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
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
