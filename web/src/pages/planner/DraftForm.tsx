/** Rules out of words: the model drafts them from an endpoint's description, a back-test shows them, a person keeps them. */
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
import { useAct } from "../../parts/useAct";
import { dollars } from "../../words/money";

export function DraftForm({ of, close }: { of?: { id: string; name: string }; close: () => void }) {
  const [picked, pick] = useState<string | null>(of?.id ?? null);
  const endpoint = useQuery({ ...endpointQuery(picked ?? ""), enabled: !!picked });
  const draft = useAct(() => plannerActs.draftRules(picked ?? ""), { quiet: true });
  const description = endpoint.data?.description;
  return (
    <Dialog onClose={close} title={of ? `Rules for ${of.name}, out of words` : "Rules out of words"} size="xl">
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
            The model reads the endpoint's description and what it answered lately, and drafts rules. They are checked
            and played over past runs here; none is kept before you say so.
          </Text>
        )}
        {endpoint.data &&
          (description ? (
            <Text size="sm" className="breaks" c="dimmed">
              “{description}”
            </Text>
          ) : (
            <Alert color="gray" title="It has no description">
              Say in a sentence what it watches and when it should run more often; its job's description counts too.{" "}
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
  const keep = useAct(
    async () => {
      for (const [place, rule] of chosen.entries()) {
        if (place < kept) continue;
        await plannerActs.addRule(endpoint, rule);
        setKept(place + 1);
      }
    },
    {
      done:
        chosen.length === 1
          ? "The rule is kept; it judges runs from now on"
          : `${chosen.length} rules are kept; they judge runs from now on`,
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
          Nothing is recorded yet to play them over.
        </Text>
      )}
      <Text size="xs" c="dimmed">
        It cost {dollars(drafted.session.cost_usd)}.{" "}
        <AnchorLink
          to="/planner/sessions/$session"
          params={{ session: drafted.session.id }}
          size="xs"
          underline="always"
        >
          The session
        </AnchorLink>
      </Text>
      {keep.error ? <Failed fault={keep.error} /> : null}
      <Group justify="flex-end">
        <Button disabled={!chosen.length} loading={keep.isPending} onClick={() => keep.mutate(undefined)}>
          {chosen.length === 1 ? "Keep the rule" : `Keep ${chosen.length} rules`}
        </Button>
      </Group>
    </Stack>
  );
}
