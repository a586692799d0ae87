/**
 * Draft rules from a description: the model drafts them from an endpoint's description, a back-test shows them, a
 * person keeps them.
 */
import { Alert, Button, Card, Checkbox, Code, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { plannerActs, type RulesDrafted } from "../../api/planner";
import { endpointQuery } from "../../api/queries";
import { BacktestResult } from "../../parts/BacktestResult";
import { Dialog } from "../../parts/Dialog";
import { EndpointPicker } from "../../parts/EndpointPicker";
import { AnchorLink } from "../../parts/links";
import { Failed } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { dollars } from "../../words/money";

export function DraftForm({ of, close }: { of?: { id: string; name: string }; close: () => void }) {
  const [picked, pick] = useState<string | null>(of?.id ?? null);
  const endpoint = useQuery({ ...endpointQuery(picked ?? ""), enabled: !!picked });
  const draft = useAction(() => plannerActs.draftRules(picked ?? ""), { quiet: true });
  const description = endpoint.data?.description;
  return (
    <Dialog onClose={close} title={of ? `Draft rules for ${of.name}` : "Draft rules from a description"} size="xl">
      <Stack>
        {!of && (
          <EndpointPicker
            label="Endpoint"
            required
            value={picked}
            set={(id) => {
              pick(id);
              draft.reset();
            }}
          />
        )}
        {!draft.data && (
          <Text size="sm">
            The model drafts rules from the endpoint's description and recent responses. The drafts are tested on past
            runs. Nothing is saved until you confirm.
          </Text>
        )}
        {endpoint.data &&
          (description ? (
            <Text size="sm" className="breaks" c="dimmed">
              “{description}”
            </Text>
          ) : (
            <Alert color="gray" title="No description">
              Describe what this endpoint monitors and when it should run more often. The job's description is used too.{" "}
              <AnchorLink
                to="/endpoints/$endpoint/edit"
                params={{ endpoint: endpoint.data.id }}
                size="sm"
                underline="always"
              >
                Edit {endpoint.data.name}
              </AnchorLink>
            </Alert>
          ))}
        {draft.error ? <Failed fault={draft.error} /> : null}
        {draft.data && picked ? (
          <Drafted key={draft.data.session.id} endpoint={picked} drafted={draft.data} close={close} />
        ) : null}
        <Group justify="flex-end">
          <Button
            variant={draft.data ? "default" : "filled"}
            disabled={!picked}
            loading={draft.isPending}
            onClick={() => draft.mutate(undefined)}
            data-autofocus={of ? true : undefined}
          >
            {draft.data ? "Draft again" : "Draft rules"}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Drafted({ endpoint, drafted, close }: { endpoint: string; drafted: RulesDrafted; close: () => void }) {
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set());
  const [kept, setKept] = useState(0); // so that a second try does not add what the first did
  const chosen = drafted.rules.filter((_, place) => !left.has(place));
  const keep = useAction(
    async () => {
      for (const [place, rule] of chosen.entries()) {
        if (place < kept) continue;
        await plannerActs.addRule(endpoint, rule);
        setKept(place + 1);
      }
    },
    {
      done: chosen.length === 1 ? "Rule added" : `${chosen.length} rules are kept; they judge runs from now on`,
      after: close,
      quiet: true,
    },
  );
  const toggle = (place: number) =>
    setLeft((before) => {
      const after = new Set(before);
      if (!after.delete(place)) after.add(place);
      return after;
    });
  return (
    <Stack>
      {drafted.explanation && (
        <Text size="sm" className="breaks">
          {drafted.explanation}
        </Text>
      )}
      <Stack gap="xs">
        {drafted.rules.map((rule, place) => (
          <Checkbox
            key={place}
            checked={!left.has(place)}
            disabled={kept > 0}
            onChange={() => toggle(place)}
            label={String(rule.name ?? `Rule ${place + 1}`)}
            styles={{ body: { alignItems: "flex-start" }, labelWrapper: { minWidth: 0, flex: 1 } }}
            description={
              <Code block component="span" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
                {Object.entries(rule)
                  .filter(([key]) => key !== "name")
                  .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
                  .join("\n")}
              </Code>
            }
          />
        ))}
      </Stack>
      {drafted.backtest ? (
        <Card padding="sm">
          <BacktestResult tested={drafted.backtest} />
        </Card>
      ) : (
        <Text size="sm" c="dimmed">
          No recorded runs to test them on.
        </Text>
      )}
      <Text size="xs" c="dimmed">
        Cost: {dollars(drafted.session.cost_usd)}.{" "}
        <AnchorLink
          to="/planner/sessions/$session"
          params={{ session: drafted.session.id }}
          size="xs"
          underline="always"
        >
          View session
        </AnchorLink>
      </Text>
      {keep.error ? <Failed fault={keep.error} /> : null}
      <Group justify="flex-end">
        <Button disabled={!chosen.length} loading={keep.isPending} onClick={() => keep.mutate(undefined)}>
          {chosen.length === 1 ? "Save rule" : `Save ${chosen.length} rules`}
        </Button>
      </Group>
    </Stack>
  );
}
