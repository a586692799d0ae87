/** Write a rule: it is checked while it is written, and can be tried on what has happened before it is kept. */
import {
  Button,
  Card,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type Owner, otherRules, plannerActs, putRule, type Rule, type RuleDocument } from "../../api/planner";
import { jobsQuery } from "../../api/queries";
import { BacktestResult } from "../../parts/BacktestResult";
import { Dialog } from "../../parts/Dialog";
import { EndpointPicker } from "../../parts/EndpointPicker";
import { RuleMatches } from "../../parts/RuleMatches";
import { useAction } from "../../parts/useAction";
import { type Does, type RuleDraft, ruleDraftOf, ruleOf } from "./ruleDraft";

const MONO = { input: { fontFamily: "var(--mantine-font-family-monospace)" } };
const ACTS: { value: Does; label: string }[] = [
  { value: "interval", label: "change the interval temporarily" },
  { value: "run", label: "run once" },
  { value: "pause", label: "pause" },
  { value: "resume", label: "resume" },
  { value: "clear_hints", label: "clear the hints" },
];
const EXAMPLES: [string, string][] = [
  ["status_code >= 500", "the target fails"],
  ["duration_ms > 2000", "it is slow"],
  ["failures >= 3", "three consecutive failures"],
  ["body.depth > 200", "a number in the response is high"],
];

/** `of` is set where the rule's owner is already clear. */
export function RuleForm({ rule, of, close }: { rule?: Rule; of?: { id: string; name: string }; close: () => void }) {
  const [draft, setDraft] = useState(() => ruleDraftOf(rule?.rule));
  const [owner, setOwner] = useState<Owner | null>(
    rule ? (rule.endpoint_id ? { endpoint: rule.endpoint_id } : { job: rule.job_id }) : of ? { endpoint: of.id } : null,
  );
  const set = (change: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...change }));
  const text = (name: "name" | "when" | "interval" | "ttl" | "run" | "pause" | "target" | "cooldown" | "reason") => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  const [settled] = useDebouncedValue(JSON.stringify({ owner, rule: ruleOf(draft) }), 300);
  const isReady = owner !== null && draft.when.trim() !== "";
  const check = useQuery({
    queryKey: ["planner", "rehearsal", rule?.id ?? "", settled],
    enabled: isReady,
    retry: false,
    queryFn: () => {
      const given = JSON.parse(settled) as { owner: Owner; rule: Record<string, unknown> };
      return putRule(given.owner, given.rule, rule, true);
    },
  });
  const test = useAction(() => tryOut(owner as Owner, ruleOf(draft), rule), { quiet: true, onlyReads: true });
  const save = useAction(() => putRule(owner as Owner, ruleOf(draft), rule, false), {
    done: "Rule saved",
    after: close,
    quiet: true,
  });
  const caught = save.error ?? test.error ?? (isReady ? check.error : null);
  const fault = caught ? asProblem(caught) : null;
  const of_ = (key: string) => fault?.of(`rule/${key}`) ?? fault?.of(`rules/${key}`);
  const isPlaced = ["name", "when", "for", "interval", "ttl", "run", "pause", "target", "cooldown", "reason"].some(
    (key) => of_(key),
  );
  return (
    <Dialog
      onClose={close}
      title={rule ? `Edit rule ${String(rule.rule.name)}` : of ? `New rule for ${of.name}` : "New rule"}
      size="xl"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          {!rule && !of && <OwnerPicker owner={owner} set={setOwner} />}
          <Textarea
            label="When"
            description="A CEL condition over a finished run: body, status_code, ok, duration_ms, failures, health, history, siblings"
            required
            autosize
            minRows={2}
            styles={MONO}
            {...text("when")}
            error={of_("when")}
            {...(owner ? { "data-autofocus": true } : {})}
            spellCheck={false}
          />
          <Group gap={6}>
            {EXAMPLES.map(([when, meaning]) => (
              <Button key={when} size="compact-xs" variant="default" title={when} onClick={() => set({ when })}>
                {meaning}
              </Button>
            ))}
          </Group>
          <Group grow align="flex-start" preventGrowOverflow={false}>
            <MultiSelect
              label="Then"
              data={ACTS}
              value={draft.does}
              onChange={(does) => set({ does: does as Does[] })}
            />
            {draft.does.includes("interval") && (
              <TextInput label="Run every" {...text("interval")} error={of_("interval")} />
            )}
            {draft.does.includes("interval") && <TextInput label="Duration" {...text("ttl")} error={of_("ttl")} />}
            {draft.does.includes("run") && (
              <TextInput
                label="Run once at"
                description="now, or in 30s"
                inputWrapperOrder={["label", "input", "description", "error"]}
                {...text("run")}
                error={of_("run")}
              />
            )}
            {draft.does.includes("pause") && (
              <TextInput
                label="Pause for"
                description="10m, or forever"
                inputWrapperOrder={["label", "input", "description", "error"]}
                {...text("pause")}
                error={of_("pause")}
              />
            )}
          </Group>
          <Group grow align="flex-start" preventGrowOverflow={false}>
            <NumberInput
              label="Consecutive matches"
              min={1}
              value={draft.for}
              onChange={(value) => set({ for: Number(value) || 1 })}
              error={of_("for")}
            />
            <TextInput label="Cooldown" placeholder="no limit" {...text("cooldown")} error={of_("cooldown")} />
            <TextInput label="Applies to" placeholder="this endpoint" {...text("target")} error={of_("target")} />
          </Group>
          <Group grow align="flex-start" preventGrowOverflow={false}>
            <TextInput label="Name" placeholder="for example rule-1" {...text("name")} error={of_("name")} />
            <TextInput
              label="Reason"
              description="Shown with the hint"
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...text("reason")}
              error={of_("reason")}
            />
          </Group>
          {test.data && (
            <Card padding="sm">
              <Stack gap="md">
                <RuleMatches tested={test.data.fired} />
                {test.data.played && <BacktestResult tested={test.data.played} />}
              </Stack>
            </Card>
          )}
          {fault && !isPlaced && (
            <Text size="sm" c="red" role="alert" className="breaks">
              {fault.message}
            </Text>
          )}
          <Group justify="space-between">
            <Text size="sm" c="dimmed" role="status">
              {!isReady ? "" : check.isFetching ? "Checking…" : check.isSuccess ? "Looks good: ready to save." : ""}
            </Text>
            <Group>
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button
                variant="default"
                disabled={!isReady}
                loading={test.isPending}
                onClick={() => {
                  save.reset();
                  test.mutate(undefined);
                }}
              >
                Test on past runs
              </Button>
              <Button type="submit" disabled={!isReady} loading={save.isPending}>
                Save rule
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Where it would have fired, and, with the rules that are there, what that would have changed. */
async function tryOut(owner: Owner, rule: RuleDocument, before?: Rule) {
  const fired = await plannerActs.testRules(owner, [rule]);
  if (!fired.runs.length) return { fired, played: null };
  return { fired, played: await plannerActs.backtest(owner, { rules: [...(await otherRules(owner, before)), rule] }) };
}

function OwnerPicker({ owner, set }: { owner: Owner | null; set: (owner: Owner | null) => void }) {
  const [kind, setKind] = useState("endpoint");
  const jobs = useQuery(jobsQuery);
  return (
    <Group align="flex-end" gap="sm">
      <SegmentedControl
        value={kind}
        onChange={(value) => {
          setKind(value);
          set(null);
        }}
        data={[
          { value: "endpoint", label: "One endpoint" },
          { value: "job", label: "A whole job" },
        ]}
        aria-label="Rule scope"
      />
      {kind === "endpoint" ? (
        <EndpointPicker
          label="Endpoint"
          required
          data-autofocus
          value={owner && "endpoint" in owner ? owner.endpoint : null}
          set={(value) => set(value ? { endpoint: value } : null)}
        />
      ) : (
        <Select
          label="Job"
          required
          searchable
          data={(jobs.data?.items ?? []).map((job) => ({ value: job.id, label: job.name }))}
          onChange={(value) => set(value ? { job: value } : null)}
          style={{ flex: 1, minWidth: 200 }}
        />
      )}
    </Group>
  );
}
