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
import { type Draft, type Field, type HeaderDraft, sendsBody } from "./draft";

export const MONO = { input: { fontFamily: "var(--mantine-font-family-monospace)" } };

const FIELDS: Record<string, Field[]> = {
  request: ["headers", "body", "timeout", "redirects_max", "body_cap"],
  success: ["accept_codes", "condition"],
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

type Props = {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  text: (name: keyof Draft) => object;
  of: (field: string) => string | undefined;
  opened: string[];
  setOpened: (sections: string[]) => void;
};

export function Sections({ draft, set, text, of, opened, setOpened }: Props) {
  const field = (name: Field) => ({ error: of(name), "data-field": name });
  return (
    <Accordion variant="contained" multiple value={opened} onChange={setOpened} transitionDuration={0}>
      <Accordion.Item value="request">
        <Accordion.Control>Request headers, body and timeout</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <Headers draft={draft} set={set} error={of("headers")} />
            {sendsBody(draft) && (
              <Textarea
                label="Body"
                autosize
                minRows={3}
                maxRows={14}
                styles={MONO}
                {...text("body")}
                {...field("body")}
              />
            )}
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <TextInput label="Timeout" description="30s, 5m" {...text("timeout")} {...field("timeout")} />
              <TextInput
                label="Redirects"
                description="Maximum number to follow"
                inputMode="numeric"
                {...text("redirectsMax")}
                {...field("redirects_max")}
              />
              <TextInput
                label="Stored response size"
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
        <Accordion.Control>Success condition</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <TextInput
              label="Status codes"
              description="Comma-separated; any 2xx if empty"
              {...text("acceptCodes")}
              {...field("accept_codes")}
            />
            <TextInput
              label="Condition"
              description="CEL over status_code, headers, body and duration_ms, as in body.ok == true"
              styles={MONO}
              {...text("condition")}
              {...field("condition")}
            />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
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

function Headers({ draft, set, error }: { draft: Draft; set: Props["set"]; error: string | undefined }) {
  const change = (place: number, part: Partial<HeaderDraft>) =>
    set({ headers: draft.headers.map((each, at) => (at === place ? { ...each, ...part } : each)) });
  const faulty = Math.max(
    0,
    draft.headers.findIndex((each) => each.secret && !each.value),
  ); // where an error leads to
  return (
    <Fieldset legend="Headers" variant="unstyled">
      <Stack gap="xs">
        {draft.headers.map((header, place) => (
          <Group key={place} gap="xs">
            <TextInput
              placeholder="Name"
              aria-label="Header name"
              value={header.name}
              style={{ flex: 1, minWidth: 120 }}
              onChange={(event) => change(place, { name: event.currentTarget.value })}
            />
            <TextInput
              placeholder={header.secret ? "Secret value" : "Value"}
              aria-label="Header value"
              value={header.value}
              style={{ flex: 2, minWidth: 120 }}
              error={!!error && place === faulty}
              {...(place === faulty ? { "data-field": "headers" } : {})}
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
              aria-label="Remove header"
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
          Add header
        </Button>
      </Stack>
    </Fieldset>
  );
}
