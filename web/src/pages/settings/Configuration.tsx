/** Everything as one document: save what there is, and apply another after what it would change is shown. */
import { Alert, Button, Card, Checkbox, FileButton, Group, List, Stack, Text, Textarea, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconDownload, IconUpload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import type { components } from "../../api/schema";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Faults } from "../../parts/Faults";
import { LeaveDialog } from "../../parts/LeaveDialog";
import { save } from "../../parts/save";
import { useAction } from "../../parts/useAction";
import { useEdits } from "../../shell/edits";
import { changeWords, countWords, isLoss } from "../../words/plan";

type Plan = components["schemas"]["Applied"];
type Wish = { document: string; prune: boolean; take_over: boolean };
const apply = (body: Wish, dryRun: boolean): Promise<Plan> =>
  data(api.POST("/api/v1/config/apply", { params: { query: { dry_run: dryRun } }, body }));
const SHOWN = 50;

export function Configuration() {
  const mayWrite = useMay("write");
  const keep = useAction(() => save("/api/v1/config/export", "mainspring.yaml"), { onlyReads: true });
  return (
    <Stack maw={820}>
      <Card>
        <Title order={2} mb={4}>
          Export
        </Title>
        <Text size="sm" c="dimmed" mb="sm">
          All jobs, endpoints, rules, connections, calendars, maintenance windows, alerts, webhooks and workflows as
          YAML. Secrets are not exported; the file marks where they belong.
        </Text>
        <Group>
          <Button
            variant="default"
            leftSection={<IconDownload size={16} />}
            loading={keep.isPending}
            onClick={() => keep.mutate(undefined)}
          >
            Download YAML
          </Button>
        </Group>
      </Card>
      {mayWrite && <Apply />}
    </Stack>
  );
}

function Apply() {
  const [wish, setWish] = useState<Wish>({ document: "", prune: false, take_over: false });
  const [asking, setAsking] = useState(false);
  const [settled] = useDebouncedValue(wish, 400);
  const isThere = settled.document.trim() !== "";
  const check = useQuery({
    queryKey: ["settings", "plan", settled],
    queryFn: () => apply(settled, true),
    enabled: isThere,
    retry: false,
  });
  const act = useAction(() => apply(wish, false), {
    done: (plan) => (plan.written ? `Applied: ${countWords(plan)}` : "No changes"),
    after: () => {
      setAsking(false);
      setWish({ ...wish, document: "" });
    },
  });
  const leaving = useEdits(wish.document.trim() !== "");
  const plan = isThere && !check.error ? check.data : undefined;
  const losses = plan?.steps.filter(isLoss) ?? [];
  const set = (change: Partial<Wish>) => setWish({ ...wish, ...change });
  return (
    <Card>
      <Group justify="space-between" mb={4}>
        <Title order={2}>Apply</Title>
        <FileButton
          accept=".yaml,.yml,.json"
          onChange={(file) => void file?.text().then((document) => set({ document }))}
        >
          {(props) => (
            <Button {...props} size="xs" variant="default" leftSection={<IconUpload size={14} />}>
              Open file
            </Button>
          )}
        </FileButton>
      </Group>
      <Stack gap="sm">
        <Textarea
          label="Document"
          description="Objects in the document are created or updated; others stay unchanged. Nothing changes until you apply it."
          placeholder={EXAMPLE}
          value={wish.document}
          onChange={(event) => set({ document: event.currentTarget.value })}
          autosize
          minRows={8}
          maxRows={24}
          classNames={{ input: "mono" }}
          spellCheck={false}
        />
        <Checkbox
          label="Remove objects that this source no longer describes"
          checked={wish.prune}
          onChange={(event) => set({ prune: event.currentTarget.checked })}
        />
        <Checkbox
          label="Take over objects that another source describes"
          checked={wish.take_over}
          onChange={(event) => set({ take_over: event.currentTarget.checked })}
        />
        {isThere && check.error ? <Faults fault={check.error} title="Cannot be applied yet" /> : null}
        {plan && <Planned plan={plan} />}
        <Group justify="flex-end">
          <Button
            color={losses.length ? "red" : undefined}
            loading={act.isPending}
            disabled={!plan?.steps.length || settled !== wish}
            onClick={() => (losses.length ? setAsking(true) : act.mutate(undefined))}
          >
            {plan?.steps.length
              ? `Apply ${plan.steps.length === 1 ? "1 change" : `${plan.steps.length} changes`}`
              : "Apply"}
          </Button>
        </Group>
      </Stack>
      <LeaveDialog leaving={leaving} />
      <Confirm
        opened={asking}
        onClose={() => setAsking(false)}
        title={losses.length === 1 ? "Remove 1 object?" : `Remove ${losses.length} objects?`}
        verb="Apply and remove"
        danger
        busy={act.isPending}
        onConfirm={() => act.mutate(undefined)}
      >
        This removes{" "}
        {losses
          .slice(0, SHOWN)
          .map((each) => `${each.kind} ${each.name}`)
          .join(", ")}
        {losses.length > SHOWN ? ` and ${losses.length - SHOWN} more` : ""}. Endpoints, jobs and workflows are archived
        with their history; all others are deleted.
      </Confirm>
    </Card>
  );
}

function Planned({ plan }: { plan: Plan }) {
  if (!plan.steps.length)
    return (
      <Alert color="gray" variant="light" title="No changes" role="status">
        {plan.notes.join(" ")}
      </Alert>
    );
  return (
    <Alert color="cyan" variant="light" title={countWords(plan)} role="status">
      <List size="sm" spacing={4}>
        {plan.steps.slice(0, SHOWN).map((step) => (
          <List.Item key={`${step.kind}-${step.name}`} className="breaks">
            <b>{step.act}</b> {step.kind} <b>{step.name}</b>
            {step.renamed_from ? `, before ${step.renamed_from}` : ""}
            {step.act === "change" &&
              step.fields.map((each) => (
                <Text key={each.field} size="sm" className="mono breaks">
                  {changeWords(each)}
                </Text>
              ))}
          </List.Item>
        ))}
      </List>
      {plan.steps.length > SHOWN && (
        <Text size="sm" mt="xs">
          and {(plan.steps.length - SHOWN).toLocaleString()} more
        </Text>
      )}
      {plan.notes.map((note) => (
        <Text key={note} size="sm" c="dimmed" mt="xs">
          {note}
        </Text>
      ))}
    </Alert>
  );
}

const EXAMPLE = `source: shop
endpoints:
  health:
    url: https://example.com/health
    every: 30s`;
