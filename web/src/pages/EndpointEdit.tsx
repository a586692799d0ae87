/** Create or change an endpoint: the form, and beside it at once what the server makes of it. */
import {
  Alert,
  Autocomplete,
  Button,
  Card,
  Grid,
  Group,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { acts } from "../api/actions";
import { asProblem, Problem } from "../api/client";
import { endpointQuery, jobsQuery, kindsQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Endpoint, Kind } from "../api/types";
import { ConnectionInput } from "../parts/ConnectionInput";
import { LeaveDialog } from "../parts/LeaveDialog";
import { ButtonLink } from "../parts/links";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { useAction } from "../parts/useAction";
import { useEdits } from "../shell/edits";
import {
  copyOf,
  type Draft,
  draftOf,
  EMPTY,
  isComplete,
  METHODS,
  type MissingSecret,
  secretsToEnter,
  wishOf,
} from "./endpoint/draft";
import { KindFields, KindInput } from "./endpoint/KindFields";
import { SavePreview } from "./endpoint/SavePreview";
import { MONO, Sections, sectionsOf } from "./endpoint/Sections";
import { CallOutcome } from "./endpoint/TestCall";

/** On a narrow screen it stands below all else. */
const comeIntoSight = (card: HTMLElement | null): void => card?.scrollIntoView({ block: "nearest" });

/** For people who may view only: what the page would do, and no form. */
function ViewOnly({ title }: { title: string }) {
  return (
    <Page title={title}>
      <Alert color="gray" role="note" title="View only">
        Only operators and owners can create and edit endpoints.
      </Alert>
    </Page>
  );
}

export function EndpointCreate() {
  const mayWrite = useMay("write");
  const { copy } = useSearch({ from: "/inside/endpoints/new" });
  const source = useQuery({ ...endpointQuery(copy ?? ""), enabled: !!copy });
  const kinds = useQuery(kindsQuery);
  if (!mayWrite) return <ViewOnly title="New endpoint" />;
  const failed = [source, kinds].find((each) => each.error && !each.data);
  if (failed) {
    return (
      <Page title="New endpoint">
        <Failed fault={failed.error} retry={() => void failed.refetch()} />
      </Page>
    );
  }
  if ((copy && source.isPending) || !kinds.data) return <PendingPage />;
  const known = kinds.data.items;
  if (!source.data) return <Form key="new" title="New endpoint" start={EMPTY} kinds={known} />;
  const start = copyOf(source.data, known);
  return <Form key={source.data.id} title={`Copy of ${source.data.name}`} start={start} kinds={known} isCopy />;
}

export function EndpointEdit() {
  const { endpoint: id } = useParams({ from: "/inside/endpoints/$endpoint/edit" });
  const mayWrite = useMay("write");
  const endpoint = useQuery(endpointQuery(id));
  const kinds = useQuery(kindsQuery);
  if (!mayWrite) return <ViewOnly title="Edit endpoint" />;
  const failed = [endpoint, kinds].find((each) => each.error && !each.data);
  if (failed) {
    return (
      <Page title="Edit">
        <Failed fault={failed.error} retry={() => void failed.refetch()} />
      </Page>
    );
  }
  if (!endpoint.data || !kinds.data) return <PendingPage />;
  const start = draftOf(endpoint.data, kinds.data.items);
  return <Form title={`Edit ${endpoint.data.name}`} start={start} saved={endpoint.data} kinds={kinds.data.items} />;
}

const CRONS: [string, string][] = [
  ["every 15 minutes", "*/15 * * * *"],
  ["weekdays at 09:00", "0 9 * * 1-5"],
  ["every midnight", "@daily"],
  ["daily after 03:00, spread over the hour", "H 3 * * *"],
  ["first of the month", "0 0 1 * *"],
];
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The field of a fault's pointer: `/headers/0/value` is about the headers. */
const fieldsOf = (fault: Problem | null): string[] =>
  (fault?.faults ?? []).flatMap((each) => (each.pointer ? [each.pointer.split("/")[1] ?? ""] : []));

const namesOf = (secrets: MissingSecret[]): string => secrets.map((each) => each.name).join(", ");

/** A copy without its secrets would be called without them: as the server would say it, before it is asked. */
const missing = (secrets: MissingSecret[]): Problem => {
  const detail = `Enter again: ${namesOf(secrets)}. Secrets are not copied.`;
  const fields = [...new Set(secrets.map((each) => each.field))];
  return new Problem(
    422,
    "Secrets are missing",
    detail,
    fields.map((field) => ({ pointer: `/${field}`, detail })),
  );
};

type FormProps = { title: string; start: Draft; kinds: Kind[]; saved?: Endpoint; isCopy?: true };

function Form({ title, start: given, kinds, saved, isCopy }: FormProps) {
  const [start] = useState(given); // an endpoint that is read again changes nothing that is being edited
  const [draft, setDraft] = useState(start);
  const [version] = useState(saved?.version);
  const navigate = useNavigate();
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const text = (name: keyof Draft) => ({
    value: String(draft[name]),
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  const kind = kinds.find((each) => each.name === draft.kind);
  const wish = wishOf(draft, kinds);
  const [settled] = useDebouncedValue(wish, 350);
  const secrets = secretsToEnter(draft);
  const isReady = isComplete(draft, kinds);
  const isSecretless = isCopy === true && secrets.length > 0;
  const save = useAction(
    async () => {
      if (isSecretless) throw missing(secrets);
      return saved ? acts.update(saved.id, wish, `"v${version}"`) : acts.create(wish);
    },
    {
      done: saved ? "Saved" : `${draft.name} created`,
      quiet: true,
      after: (made) =>
        void navigate({ to: "/endpoints/$endpoint", params: { endpoint: made.id }, ignoreBlocker: true }),
    },
  );
  const rehearsal = useQuery({
    queryKey: ["endpoints", "rehearsal", saved?.id ?? "", JSON.stringify(settled)],
    queryFn: () => (saved ? acts.rehearseUpdate(saved.id, settled) : acts.rehearseCreate(settled)),
    enabled: isReady && !isSecretless && !save.isPending && !save.isSuccess,
    retry: false,
    placeholderData: (before) => before,
  });
  const check = useAction(() => acts.check(wish), { quiet: true, onlyReads: true });
  const checked = rehearsal.error && isReady && !isSecretless ? rehearsal.error : null;
  const found = save.error ?? checked;
  const fault = useMemo(() => (found ? asProblem(found) : null), [found]);
  const general = fault && !fieldsOf(fault).length ? fault.message : null;
  const leaving = useEdits(JSON.stringify(draft) !== JSON.stringify(start) && !save.isSuccess);
  const form = useRef<HTMLFormElement>(null);
  const [opened, setOpened] = useState<string[]>(() => (isCopy ? sectionsOf(secrets.map((each) => each.field)) : []));
  useEffect(() => setOpened((before) => [...new Set([...before, ...sectionsOf(fieldsOf(fault))])]), [fault]);
  const refused = save.error;
  useEffect(() => {
    if (refused) showFault(form.current, fieldsOf(asProblem(refused)));
  }, [refused]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  const of = (field: string) => fault?.of(field);
  return (
    <Page title={title}>
      <form ref={form} onSubmit={submit}>
        <Grid gap="md">
          <Grid.Col span={{ base: 12, lg: 7 }}>
            <Stack>
              {isCopy && secretsToEnter(start).length > 0 && <SecretsNote secrets={secrets} />}
              <Card>
                <Stack>
                  <Group grow align="flex-start" preventGrowOverflow={false}>
                    <TextInput
                      label="Name"
                      required
                      {...text("name")}
                      error={of("name")}
                      data-field="name"
                      autoFocus={!saved}
                    />
                    <JobInput value={draft.job} set={(job) => set({ job })} error={of("job")} />
                  </Group>
                  <KindInput kinds={kinds} kind={kind} set={set} error={of("kind")} />
                  {draft.kind !== "http" && <KindFields kind={kind} draft={draft} set={set} of={of} />}
                  <Group align="flex-start" wrap="nowrap" gap="xs" display={draft.kind === "http" ? undefined : "none"}>
                    <Select
                      label="Method"
                      data={METHODS}
                      value={draft.method}
                      allowDeselect={false}
                      w={120}
                      data-field="method"
                      onChange={(method) => set({ method: METHODS.find((each) => each === method) ?? "GET" })}
                      error={of("method")}
                    />
                    <TextInput
                      label="URL"
                      required={draft.kind === "http"}
                      type={draft.connection ? "text" : "url"}
                      placeholder={draft.connection ? "/health" : "https://api.example.com/health"}
                      style={{ flex: 1 }}
                      {...text("url")}
                      error={of("url")}
                      data-field="url"
                    />
                  </Group>
                  {draft.kind === "http" && (
                    <ConnectionInput
                      value={draft.connection}
                      set={(connection) => set({ connection })}
                      error={of("connection")}
                    />
                  )}
                  <TextInput
                    label="Description"
                    {...text("description")}
                    error={of("description")}
                    data-field="description"
                  />
                  <Textarea
                    label="Runbook"
                    description="What to do when it fails: a link or a few lines. Sent with alerts."
                    autosize
                    maxRows={8}
                    {...text("runbook")}
                    error={of("runbook")}
                    data-field="runbook"
                  />
                </Stack>
              </Card>
              <When draft={draft} set={set} text={text} of={of} isNew={!saved && !isCopy} />
              <Sections draft={draft} kind={kind} set={set} text={text} of={of} opened={opened} setOpened={setOpened} />
              {general && (
                <Alert color="red" role="alert" data-field="general" tabIndex={-1}>
                  {general}
                </Alert>
              )}
              <Group>
                <Button type="submit" loading={save.isPending} disabled={!isReady}>
                  {saved ? "Save" : "Create endpoint"}
                </Button>
                {draft.kind !== "heartbeat" && (
                  <Button
                    variant="default"
                    loading={check.isPending}
                    disabled={!isReady}
                    onClick={() => check.mutate(undefined)}
                  >
                    Send test call
                  </Button>
                )}
                {saved ? (
                  <ButtonLink variant="subtle" color="gray" to="/endpoints/$endpoint" params={{ endpoint: saved.id }}>
                    Cancel
                  </ButtonLink>
                ) : (
                  <ButtonLink variant="subtle" color="gray" to="/endpoints">
                    Cancel
                  </ButtonLink>
                )}
              </Group>
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 5 }}>
            <Stack>
              <Card>
                <Title order={2} mb="sm">
                  {saved ? "Effect of saving" : "Preview"}
                </Title>
                {!isReady && (
                  <Text size="sm" c="dimmed">
                    {draft.kind === "http"
                      ? "Enter a name and a URL to preview the next runs."
                      : "Enter a name and the required fields to preview the next runs."}
                  </Text>
                )}
                {isReady && isSecretless && (
                  <Text size="sm" c="dimmed" role="status">
                    Enter the secrets to preview the next runs.
                  </Text>
                )}
                {isReady && checked && (
                  <Text size="sm" c="dimmed" role="status">
                    Fix the highlighted fields to preview the next runs.
                  </Text>
                )}
                {isReady && !isSecretless && !rehearsal.error && rehearsal.data && (
                  <SavePreview rehearsed={rehearsal.data} isNew={!saved} />
                )}
              </Card>
              {(check.data || check.error) && (
                <Card key={check.submittedAt} ref={comeIntoSight}>
                  <Title order={2} mb="sm">
                    Test call
                  </Title>
                  {check.error ? <Failed fault={check.error} /> : check.data && <CallOutcome outcome={check.data} />}
                </Card>
              )}
            </Stack>
          </Grid.Col>
        </Grid>
      </form>
      <LeaveDialog leaving={leaving} />
    </Page>
  );
}

/** Scroll to the first refused field and focus it. A field in a section that still opens is tried again each frame. */
function showFault(form: HTMLFormElement | null, fields: string[], framesLeft = 120): void {
  requestAnimationFrame(() => {
    const marked = (fields.length ? fields : ["general"]).map((field) =>
      form?.querySelector<HTMLElement>(`[data-field="${field}"]`),
    );
    const place = marked.find((each) => each) ?? form?.querySelector<HTMLElement>("[role=alert]");
    const control = place?.matches("input, textarea, [tabindex]")
      ? place
      : place?.querySelector<HTMLElement>("input, textarea");
    place?.scrollIntoView({ block: "center" });
    control?.focus({ preventScroll: true });
    const isShown = control !== undefined && control !== null && document.activeElement === control;
    if (!isShown && framesLeft > 0) showFault(form, fields, framesLeft - 1);
  });
}

function SecretsNote({ secrets }: { secrets: MissingSecret[] }) {
  return (
    <Alert
      color={secrets.length ? "orange" : "green"}
      role="note"
      title={secrets.length ? "Enter secrets again" : "All secrets entered"}
    >
      <Text size="sm" className="breaks">
        {secrets.length ? `The copy has all settings except secrets. Enter: ${namesOf(secrets)}.` : "Ready to create."}
      </Text>
    </Alert>
  );
}

const TIMINGS: Draft["timing"][] = ["interval", "cron", "once"];

type WhenProps = {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  text: (name: keyof Draft) => object;
  of: (field: string) => string | undefined;
  isNew: boolean;
};

function When({ draft, set, text, of, isNew }: WhenProps) {
  const choose = (timing: Draft["timing"]) =>
    set({ timing, ...(timing === "cron" && isNew && draft.timezone === EMPTY.timezone ? { timezone: ZONE } : {}) });
  return (
    <Card>
      <Title order={2} mb="sm">
        Schedule
      </Title>
      <Stack>
        <SegmentedControl
          value={draft.timing}
          onChange={(timing) => choose(TIMINGS.find((each) => each === timing) ?? "interval")}
          aria-label="Schedule type"
          data={[
            { value: "interval", label: "Interval" },
            { value: "cron", label: "Cron schedule" },
            { value: "once", label: "Once" },
          ]}
        />
        {draft.timing === "once" ? (
          <TextInput
            label="Time"
            description="2030-01-31T08:00:00Z, or in 10m"
            required
            {...text("at")}
            error={of("at")}
            maw={320}
            data-field="at"
          />
        ) : draft.timing === "interval" ? (
          <TextInput
            label="Interval"
            description="30s, 5m, 1h30m, 1d"
            required
            {...text("interval")}
            error={of("every")}
            maw={220}
            data-field="every"
          />
        ) : (
          <>
            <Group align="flex-start" grow preventGrowOverflow={false}>
              <TextInput
                label="Cron expression"
                description="Minute, hour, day, month, weekday"
                required
                styles={MONO}
                {...text("cron")}
                error={of("cron")}
                data-field="cron"
              />
              <TextInput
                label="Time zone"
                description="For example Europe/Berlin"
                {...text("timezone")}
                error={of("timezone")}
                data-field="timezone"
              />
            </Group>
            <Group gap={6}>
              {CRONS.map(([meaning, cron]) => (
                <Button key={cron} size="compact-xs" variant="default" title={cron} onClick={() => set({ cron })}>
                  {meaning}
                </Button>
              ))}
            </Group>
          </>
        )}
      </Stack>
    </Card>
  );
}

function JobInput({ value, set, error }: { value: string; set: (job: string) => void; error: string | undefined }) {
  const jobs = useQuery(jobsQuery);
  return (
    <Autocomplete
      label="Job"
      description="Group this endpoint belongs to; created if new"
      inputWrapperOrder={["label", "input", "description", "error"]}
      data={(jobs.data?.items ?? []).filter((job) => job.status !== "archived").map((job) => job.name)}
      value={value}
      onChange={set}
      error={error}
      data-field="job"
    />
  );
}
