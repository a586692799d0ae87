/** The rarer settings of an endpoint, in sections that are closed until they are needed or hold an error. */
import {
  Accordion,
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { Kind } from "../../api/types";
import { CalendarInput } from "../../parts/CalendarInput";
import { type Draft, type Field, type HeaderDraft, hasShift, isCalled, sendsBody } from "./draft";
import { KindFields } from "./KindFields";

export const MONO = { input: { fontFamily: "var(--mantine-font-family-monospace)" } };

const FIELDS: Record<string, Field[]> = {
  request: ["headers", "environment", "body", "literal", "timeout", "redirects_max", "body_cap"],
  success: [
    "completes",
    "callback_timeout",
    "accept_codes",
    "contains",
    "matches",
    "warn_days",
    "fail_days",
    "condition",
  ],
  retry: ["retry", "confirm"],
  calendars: ["except", "only", "shift"],
  limits: [
    "min_interval",
    "max_interval",
    "jitter",
    "spread",
    "backoff",
    "misfire",
    "catch_up_max",
    "max_lateness",
    "on_lost_worker",
    "advice",
  ],
};

/** The sections that hold these fields. */
export const sectionsOf = (fields: string[]): string[] =>
  Object.entries(FIELDS)
    .filter(([, held]) => held.some((each) => fields.includes(each)))
    .map(([section]) => section);

const COMPLETIONS = [
  { value: "response", label: "The response" },
  { value: "callback", label: "A callback, after the target answered 202" },
];

type CompletionProps = Pick<Props, "draft" | "set" | "text"> & { field: (name: Field) => object };

/** What ends a run, and for how long a target that reports later may be silent. */
function Completion({ draft, set, text, field }: CompletionProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Select
        label="Completed by"
        description="Long work reports to the URL in the header Mainspring-Callback-Url"
        data={COMPLETIONS}
        value={draft.completes}
        allowDeselect={false}
        onChange={(value) => set({ completes: value ?? "response" })}
        {...field("completes")}
      />
      {draft.completes === "callback" && (
        <TextInput
          label="Callback timeout"
          description="How long a run may go without a report, up to 30d"
          {...text("callbackTimeout")}
          {...field("callback_timeout")}
        />
      )}
    </SimpleGrid>
  );
}

type Props = {
  draft: Draft;
  kind: Kind | undefined;
  set: (change: Partial<Draft>) => void;
  text: (name: keyof Draft) => object;
  of: (field: string) => string | undefined;
  opened: string[];
  setOpened: (sections: string[]) => void;
};

export function Sections({ draft, kind, set, text, of, opened, setOpened }: Props) {
  const field = (name: Field) => ({ error: of(name), "data-field": name });
  const isHttp = draft.kind === "http";
  const has = (key: Field) => kind?.fields.some((each) => each.key === key) ?? false;
  const hasVariables = has("environment");
  const hasTemplates = has("literal");
  return (
    <Accordion variant="contained" multiple value={opened} onChange={setOpened} transitionDuration={0}>
      <Accordion.Item value="request">
        <Accordion.Control>
          {isHttp
            ? "Request headers, body and timeout"
            : has("body")
              ? "Message, headers, password and timeout"
              : hasVariables
                ? "Variables, timeout and stored result"
                : "Timeout and stored result"}
        </Accordion.Control>
        <Accordion.Panel>
          <Stack>
            {has("headers") && <Pairs word="header" field="headers" draft={draft} set={set} error={of("headers")} />}
            {has("headers") && !isHttp && (
              <Text size="xs" c="dimmed">
                {kind?.fields.find((each) => each.key === "headers")?.about}
              </Text>
            )}
            {hasVariables && (
              <Pairs word="variable" field="environment" draft={draft} set={set} error={of("environment")} />
            )}
            {has("body") && sendsBody(draft) && (
              <Textarea
                label={isHttp ? "Body" : "Message"}
                autosize
                minRows={3}
                maxRows={14}
                styles={MONO}
                {...text("body")}
                {...field("body")}
              />
            )}
            {hasTemplates && (
              <Switch
                label="Send texts as they are"
                description='Off: {{ date(slot.time, "Europe/Berlin") }} and other templates are filled in for each run.'
                checked={draft.literal}
                onChange={(event) => set({ literal: event.currentTarget.checked })}
                {...field("literal")}
              />
            )}
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <TextInput label="Timeout" description="30s, 5m" {...text("timeout")} {...field("timeout")} />
              {isHttp && (
                <TextInput
                  label="Redirects"
                  description="Maximum number to follow"
                  inputMode="numeric"
                  {...text("redirectsMax")}
                  {...field("redirects_max")}
                />
              )}
              <TextInput
                label={isHttp ? "Stored response size" : "Stored result size"}
                description="In bytes"
                inputMode="numeric"
                {...text("bodyCap")}
                {...field("body_cap")}
              />
            </SimpleGrid>
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="success">
        <Accordion.Control>{isHttp ? "Completion and success condition" : "Success condition"}</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            {isHttp && <Completion draft={draft} set={set} text={text} field={field} />}
            {isHttp && (
              <TextInput
                label="Status codes"
                description="Comma-separated; any 2xx if empty"
                {...text("acceptCodes")}
                {...field("accept_codes")}
              />
            )}
            {isHttp && <KindFields kind={kind} draft={draft} set={set} of={of} />}
            <TextInput
              label="Condition"
              description={
                isHttp
                  ? "CEL over status_code, headers, body, tls and duration_ms, as in body.ok == true"
                  : `CEL over ${(kind?.facts ?? []).map((fact) => fact.name).join(", ")} and duration_ms`
              }
              styles={MONO}
              {...text("condition")}
              {...field("condition")}
            />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
      {isCalled(draft) && (
        <Accordion.Item value="retry">
          <Accordion.Control>Retries</Accordion.Control>
          <Accordion.Panel>
            <Retries draft={draft} set={set} text={text} of={of} />
          </Accordion.Panel>
        </Accordion.Item>
      )}
      {draft.timing !== "once" && (
        <Accordion.Item value="calendars">
          <Accordion.Control>Calendars</Accordion.Control>
          <Accordion.Panel>
            <CalendarFields draft={draft} set={set} text={text} field={field} />
          </Accordion.Panel>
        </Accordion.Item>
      )}
      <Accordion.Item value="limits">
        <Accordion.Control>Limits, failures and missed runs</Accordion.Control>
        <Accordion.Panel>
          <Limits draft={draft} set={set} text={text} field={field} />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

type LimitsProps = Pick<Props, "draft" | "set" | "text"> & {
  field: (name: Field) => { error: string | undefined; "data-field": string };
};

function CalendarFields({ draft, set, text, field }: LimitsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <CalendarInput
        label="Except"
        description="No runs on the days of this calendar"
        value={draft.except}
        set={(name) => set({ except: name })}
        {...field("except")}
      />
      <CalendarInput
        label="Only"
        description="Runs only on the days of this calendar"
        value={draft.only}
        set={(name) => set({ only: name })}
        {...field("only")}
      />
      {draft.timing === "interval" && (draft.except || draft.only) && (
        <TextInput
          label="Time zone"
          description="In which a day begins and ends"
          {...text("timezone")}
          {...field("timezone")}
        />
      )}
      {hasShift(draft) && (
        <Select
          label="On an excluded day"
          value={draft.shift}
          onChange={(shift) => set({ shift: shift ?? "skip" })}
          allowDeselect={false}
          {...field("shift")}
          data={[
            { value: "skip", label: "Skip the run" },
            { value: "next_business_day", label: "Run on the next allowed day" },
            { value: "previous_business_day", label: "Run on the previous allowed day" },
          ]}
        />
      )}
    </SimpleGrid>
  );
}

function Limits({ draft, set, text, field }: LimitsProps) {
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label="Minimum interval"
          description="For example 30s"
          {...text("minInterval")}
          {...field("min_interval")}
        />
        <TextInput
          label="Maximum interval"
          description="For example 1h"
          {...text("maxInterval")}
          {...field("max_interval")}
        />
        <TextInput
          label="Jitter"
          description="Random delay of up to this much"
          {...text("jitter")}
          {...field("jitter")}
        />
        <TextInput
          label="Maximum lateness"
          description="Runs later than this are missed; no limit if empty"
          {...text("maxLateness")}
          {...field("max_lateness")}
        />
        <Select
          label="After failures"
          value={draft.backoff}
          onChange={(backoff) => set({ backoff: backoff ?? "default" })}
          allowDeselect={false}
          {...field("backoff")}
          data={[
            { value: "default", label: "Double the interval, up to 32 times" },
            { value: "monitor", label: "Monitor: back off up to one hour" },
            { value: "none", label: "Keep the interval" },
          ]}
        />
        <Select
          label="If the worker is lost"
          value={draft.onLostWorker}
          onChange={(way) => set({ onLostWorker: way ?? "retry" })}
          allowDeselect={false}
          {...field("on_lost_worker")}
          data={[
            { value: "retry", label: "Run again (at least once)" },
            { value: "skip", label: "Do not run again (at most once)" },
          ]}
        />
        <Select
          label="Missed runs"
          value={draft.misfire}
          onChange={(misfire) => set({ misfire: misfire ?? "run_once" })}
          allowDeselect={false}
          {...field("misfire")}
          data={[
            { value: "run_once", label: "Run once" },
            { value: "skip", label: "Skip" },
            { value: "catch_up", label: "Catch up" },
          ]}
        />
        <TextInput
          label="Runs to catch up"
          description="Maximum number"
          inputMode="numeric"
          inputWrapperOrder={["label", "input", "description", "error"]}
          {...text("catchUpMax")}
          {...field("catch_up_max")}
        />
      </SimpleGrid>
      <Switch
        label="Spread first runs"
        description="Spread first runs within the interval"
        checked={draft.spread}
        onChange={(event) => set({ spread: event.currentTarget.checked })}
        {...field("spread")}
      />
      <Checkbox.Group
        label="Allowed advice"
        description="Changes that rules, workflows and the model may make"
        value={draft.advice}
        onChange={(advice) => set({ advice })}
        {...field("advice")}
      >
        <Group mt="xs">
          <Checkbox value="interval" label="change the interval" />
          <Checkbox value="run" label="run the endpoint" />
          <Checkbox value="wake" label="resume the endpoint" />
          <Checkbox value="pause" label="pause the endpoint" />
          <Checkbox value="siblings" label="act on other endpoints of the job" />
        </Group>
      </Checkbox.Group>
    </Stack>
  );
}

function Retries({ draft, set, text, of }: Pick<Props, "draft" | "set" | "text" | "of">) {
  const part = (name: string) => {
    const error = of(`retry/${name}`);
    return { error, "data-field": error ? "retry" : undefined }; // the first one that is wrong is shown
  };
  return (
    <Stack>
      <TextInput
        label="Confirm failures"
        description="How often a failing check is made before it counts as failed, for example 3 within 20s"
        {...text("confirm")}
        error={of("confirm")}
        data-field="confirm"
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label="Attempts"
          description="Per run, including the first; 1: no retry"
          inputMode="numeric"
          {...text("retryAttempts")}
          {...part("attempts")}
        />
        <TextInput
          label="Delay"
          description="Before the second attempt, for example 5m"
          {...text("retryDelay")}
          {...part("delay")}
        />
        <TextInput
          label="Delay factor"
          description="Multiplies each further delay"
          inputMode="numeric"
          {...text("retryFactor")}
          {...part("factor")}
        />
        <TextInput
          label="Maximum delay"
          description="For example 1h"
          {...text("retryMaxDelay")}
          {...part("max_delay")}
        />
      </SimpleGrid>
      <Checkbox.Group
        label="Failures to retry"
        value={draft.retryOn}
        onChange={(retryOn) => set({ retryOn })}
        {...part("on")}
      >
        <Group mt="xs">
          <Checkbox value="timeout" label="timeout" />
          <Checkbox value="connect" label="no connection" />
          <Checkbox value="5xx" label="HTTP 5xx" />
          <Checkbox value="rate_limit" label="HTTP 429" />
          <Checkbox value="4xx" label="other HTTP 4xx" />
          <Checkbox value="condition" label="false condition" />
          <Checkbox value="other" label="other failures" />
        </Group>
      </Checkbox.Group>
    </Stack>
  );
}

type PairsProps = Pick<Props, "draft" | "set"> & {
  word: "header" | "variable";
  field: "headers" | "environment";
  error: string | undefined;
};

function Pairs({ word, field, draft, set, error }: PairsProps) {
  const title = word === "header" ? "Header" : "Variable";
  const change = (place: number, part: Partial<HeaderDraft>) =>
    set({ headers: draft.headers.map((each, at) => (at === place ? { ...each, ...part } : each)) });
  const faulty = Math.max(
    0,
    draft.headers.findIndex((each) => each.secret && !each.value),
  ); // where an error leads to
  return (
    <Fieldset legend={`${title}s`} variant="unstyled">
      <Stack gap="xs">
        {draft.headers.map((header, place) => (
          <Group key={place} gap="xs">
            <TextInput
              placeholder="Name"
              aria-label={`${title} name`}
              value={header.name}
              style={{ flex: 1, minWidth: 120 }}
              onChange={(event) => change(place, { name: event.currentTarget.value })}
            />
            <TextInput
              placeholder={header.secret ? "Secret value" : "Value"}
              aria-label={`${title} value`}
              value={header.value}
              style={{ flex: 2, minWidth: 120 }}
              error={!!error && place === faulty}
              {...(place === faulty ? { "data-field": field } : {})}
              onChange={(event) => change(place, { value: event.currentTarget.value })}
            />
            <Checkbox
              label="Secret"
              checked={header.secret}
              onChange={(event) => change(place, { secret: event.currentTarget.checked })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${word}`}
              onClick={() => set({ headers: draft.headers.filter((_, at) => at !== place) })}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
        ))}
        {error && (
          <Text size="sm" c="red" role="alert">
            {error}
          </Text>
        )}
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlus size={14} />}
          style={{ alignSelf: "flex-start" }}
          onClick={() => set({ headers: [...draft.headers, { name: "", value: "", secret: false }] })}
        >
          Add {word}
        </Button>
      </Stack>
    </Fieldset>
  );
}
