/** Create or change an endpoint: the form, and beside it at once what the server makes of it. */
import { Accordion, ActionIcon, Alert, Autocomplete, Button, Card, Checkbox, Fieldset, Grid, Group, SegmentedControl, Select, SimpleGrid, Stack, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { acts } from "../api/acts";
import { asProblem } from "../api/client";
import { endpointQuery, jobsQuery } from "../api/queries";
import type { Endpoint } from "../api/types";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { useAct } from "../parts/useAct";
import { type Draft, draftOf, EMPTY, wishOf } from "./endpoint/draft";
import { Rehearsal } from "./endpoint/Rehearsal";
import { CallOutcome } from "./endpoint/TestCall";

/** On a narrow screen it stands below all else. */
const comeIntoSight = (card: HTMLElement | null): void => card?.scrollIntoView({ block: "nearest" });

export function EndpointCreate() {
  const { copy } = useSearch({ from: "/inside/endpoints/new" });
  const source = useQuery({ ...endpointQuery(copy ?? ""), enabled: !!copy });
  if (copy && source.isPending) return <PendingPage />;
  const start = source.data ? { ...draftOf(source.data), name: `${source.data.name} copy` } : EMPTY;
  return <Form title="New endpoint" start={start} />;
}

export function EndpointEdit() {
  const { endpoint: id } = useParams({ from: "/inside/endpoints/$endpoint/edit" });
  const endpoint = useQuery(endpointQuery(id));
  if (endpoint.error && !endpoint.data) return <Page title="Edit"><Failed fault={endpoint.error} retry={() => void endpoint.refetch()} /></Page>;
  if (!endpoint.data) return <PendingPage />;
  return <Form title={`Edit ${endpoint.data.name}`} start={draftOf(endpoint.data)} saved={endpoint.data} />;
}

const MONO = { input: { fontFamily: "var(--mantine-font-family-monospace)" } };
const CRONS: [string, string][] = [["every 15 minutes", "*/15 * * * *"], ["weekdays at 09:00", "0 9 * * 1-5"], ["every midnight", "@daily"], ["after 03:00, each at a minute of its own", "H 3 * * *"], ["first of the month", "0 0 1 * *"]];
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function Form({ title, start, saved }: { title: string; start: Draft; saved?: Endpoint }) {
  const [draft, setDraft] = useState(start);
  const [version] = useState(saved?.version);
  const navigate = useNavigate();
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const text = (name: keyof Draft) => ({ value: String(draft[name]), onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }) });
  const wish = wishOf(draft);
  const [settled] = useDebouncedValue(wish, 350);
  const isReady = draft.name.trim() !== "" && draft.url.trim() !== "";
  const save = useAct(() => (saved ? acts.update(saved.id, wish, `"v${version}"`) : acts.create(wish)), {
    done: saved ? "Saved" : `${draft.name} is added`, quiet: true,
    after: (made) => void navigate({ to: "/endpoints/$endpoint", params: { endpoint: made.id } as never }),
  });
  const rehearsal = useQuery({
    queryKey: ["endpoints", "rehearsal", saved?.id ?? "", JSON.stringify(settled)],
    queryFn: () => (saved ? acts.rehearseUpdate(saved.id, settled) : acts.rehearseCreate(settled)),
    enabled: isReady && !save.isPending && !save.isSuccess, retry: false, placeholderData: (before) => before,
  });
  const check = useAct(() => acts.check(wish), { quiet: true });
  const fault = save.error ? asProblem(save.error) : rehearsal.error && isReady ? asProblem(rehearsal.error) : null;
  const general = fault && !fault.faults.some((each) => each.pointer) ? fault.message : null;
  return (
    <Page title={title}>
      <form onSubmit={(event) => { event.preventDefault(); save.mutate(undefined); }}>
        <Grid gap="md">
          <Grid.Col span={{ base: 12, lg: 7 }}>
            <Stack>
              <Card>
                <Stack>
                  <Group grow align="flex-start" preventGrowOverflow={false}>
                    <TextInput label="Name" required {...text("name")} error={fault?.of("name")} autoFocus={!saved} />
                    <JobInput value={draft.job} set={(job) => set({ job })} error={fault?.of("job")} />
                  </Group>
                  <Group align="flex-start" wrap="nowrap" gap="xs">
                    <Select label="Method" data={["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]} value={draft.method} onChange={(method) => set({ method: method ?? "GET" })} allowDeselect={false} w={110} />
                    <TextInput label="URL" required type="url" placeholder="https://api.example.com/health" style={{ flex: 1 }} {...text("url")} error={fault?.of("url")} />
                  </Group>
                  <TextInput label="Description" {...text("description")} error={fault?.of("description")} />
                </Stack>
              </Card>
              <Card>
                <Title order={2} mb="sm">When</Title>
                <Stack>
                  <SegmentedControl value={draft.kind} onChange={(kind) => set({ kind: kind as Draft["kind"], ...(kind === "cron" && !saved && draft.timezone === EMPTY.timezone ? { timezone: ZONE } : {}) })} data={[{ value: "interval", label: "Every so often" }, { value: "cron", label: "At certain times (cron)" }]} aria-label="Kind of schedule" />
                  {draft.kind === "interval" ? (
                    <TextInput label="Interval" description="30s, 5m, 1h30m, 1d" required {...text("interval")} error={fault?.of("interval_ms")} maw={220} />
                  ) : (
                    <>
                      <Group align="flex-start" grow preventGrowOverflow={false}>
                        <TextInput label="Cron expression" description="Minute, hour, day, month, weekday" required styles={MONO} {...text("cron")} error={fault?.of("cron")} />
                        <TextInput label="Time zone" description="As in Europe/Berlin" {...text("timezone")} error={fault?.of("timezone")} />
                      </Group>
                      <Group gap={6}>{CRONS.map(([meaning, cron]) => <Button key={cron} size="compact-xs" variant="default" title={cron} onClick={() => set({ cron })}>{meaning}</Button>)}</Group>
                    </>
                  )}
                </Stack>
              </Card>
              <More draft={draft} set={set} text={text} of={(field) => fault?.of(field)} />
              {general && <Alert color="red" role="alert">{general}</Alert>}
              <Group>
                <Button type="submit" loading={save.isPending} disabled={!isReady}>{saved ? "Save" : "Add the endpoint"}</Button>
                <Button variant="default" loading={check.isPending} disabled={!isReady} onClick={() => check.mutate(undefined)}>Send a test call</Button>
                <Button variant="subtle" color="gray" component={Link} to={saved ? "/endpoints/$endpoint" : "/endpoints"} params={(saved ? { endpoint: saved.id } : {}) as never}>Cancel</Button>
              </Group>
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 5 }}>
            <Stack>
              <Card>
                <Title order={2} mb="sm">{saved ? "What saving changes" : "What will happen"}</Title>
                {!isReady && <Text size="sm" c="dimmed">Give it a name and a URL, and its next runs appear here before anything is saved.</Text>}
                {isReady && rehearsal.error && <Text size="sm" c="dimmed" role="status">Once the form is right, its next runs appear here.</Text>}
                {isReady && !rehearsal.error && rehearsal.data && <Rehearsal rehearsed={rehearsal.data} isNew={!saved} />}
              </Card>
              {(check.data || check.error) && (
                <Card key={check.submittedAt} ref={comeIntoSight}>
                  <Title order={2} mb="sm">Test call</Title>
                  {check.error ? <Failed fault={check.error} /> : check.data && <CallOutcome outcome={check.data} />}
                </Card>
              )}
            </Stack>
          </Grid.Col>
        </Grid>
      </form>
    </Page>
  );
}

function JobInput({ value, set, error }: { value: string; set: (job: string) => void; error: string | undefined }) {
  const jobs = useQuery(jobsQuery);
  return <Autocomplete label="Job" description="Its group; made if it is new" inputWrapperOrder={["label", "input", "description", "error"]} data={(jobs.data?.items ?? []).filter((job) => job.status !== "archived").map((job) => job.name)} value={value} onChange={set} error={error} />;
}

type MoreProps = { draft: Draft; set: (change: Partial<Draft>) => void; text: (name: keyof Draft) => object; of: (field: string) => string | undefined };

function More({ draft, set, text, of }: MoreProps) {
  return (
    <Accordion variant="contained" multiple>
      <Accordion.Item value="request">
        <Accordion.Control>Request: headers, body, timeout</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <Headers draft={draft} set={set} error={of("headers")} />
            {!["GET", "HEAD"].includes(draft.method) && <Textarea label="Body" autosize minRows={3} maxRows={14} styles={MONO} {...text("body")} error={of("body")} />}
            <TextInput label="Timeout" maw={220} {...text("timeout")} error={of("timeout_ms")} />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="success">
        <Accordion.Control>What counts as success</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <TextInput label="Status codes" description="Separated by commas; empty is any 2xx" {...text("acceptCodes")} error={of("accept_codes")} />
            <TextInput label="Condition" description="CEL over status_code, headers, body and duration_ms, as in body.ok == true" styles={MONO} {...text("condition")} error={of("condition")} />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="limits">
        <Accordion.Control>Limits, failures and missed slots</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <TextInput label="Never closer than" description="Minimum interval" {...text("minInterval")} error={of("min_interval_ms")} />
              <TextInput label="Never farther than" description="Maximum interval" {...text("maxInterval")} error={of("max_interval_ms")} />
              <Select label="After failures" data={[{ value: "default", label: "Double the interval, up to 32 times" }, { value: "monitor", label: "As a monitor: up to an hour" }]} value={draft.backoff} onChange={(backoff) => set({ backoff: backoff ?? "default" })} allowDeselect={false} error={of("backoff")} />
              <Select label="Missed slots" data={[{ value: "run_once", label: "Run the newest once" }, { value: "skip", label: "Skip them" }, { value: "catch_up", label: "Catch up" }]} value={draft.misfire} onChange={(misfire) => set({ misfire: misfire ?? "run_once" })} allowDeselect={false} error={of("misfire")} />
            </SimpleGrid>
            <Checkbox.Group label="Advice may" description="What rules, workflows and the model may do here" value={draft.advice} onChange={(advice) => set({ advice })} error={of("advice")}>
              <Group mt="xs">
                <Checkbox value="interval" label="change the interval" />
                <Checkbox value="run" label="run it" />
                <Checkbox value="wake" label="wake it" />
                <Checkbox value="pause" label="pause it" />
                <Checkbox value="siblings" label="act on its siblings" />
              </Group>
            </Checkbox.Group>
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function Headers({ draft, set, error }: { draft: Draft; set: (change: Partial<Draft>) => void; error: string | undefined }) {
  const change = (place: number, part: Partial<Draft["headers"][number]>) => set({ headers: draft.headers.map((each, at) => (at === place ? { ...each, ...part } : each)) });
  return (
    <Fieldset legend="Headers" variant="unstyled">
      <Stack gap="xs">
        {draft.headers.map((header, place) => (
          <Group key={place} gap="xs">
            <TextInput placeholder="Name" aria-label="Header name" value={header.name} onChange={(event) => change(place, { name: event.currentTarget.value })} style={{ flex: 1, minWidth: 120 }} />
            <TextInput placeholder="Value" aria-label="Header value" value={header.value} onChange={(event) => change(place, { value: event.currentTarget.value })} style={{ flex: 2, minWidth: 120 }} />
            <Checkbox label="Secret" checked={header.secret} onChange={(event) => change(place, { secret: event.currentTarget.checked })} />
            <ActionIcon variant="subtle" color="gray" aria-label="Remove the header" onClick={() => set({ headers: draft.headers.filter((_, at) => at !== place) })}><IconTrash size={16} /></ActionIcon>
          </Group>
        ))}
        {error && <Text size="sm" c="red" role="alert">{error}</Text>}
        <Button size="compact-sm" variant="default" leftSection={<IconPlus size={14} />} onClick={() => set({ headers: [...draft.headers, { name: "", value: "", secret: false }] })} style={{ alignSelf: "flex-start" }}>Add a header</Button>
      </Stack>
    </Fieldset>
  );
}
