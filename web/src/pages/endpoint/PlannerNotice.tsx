/** What a rule or a model changed here, in one sentence, and the way back. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { IconArrowBackUp, IconBulb } from "@tabler/icons-react";
import { acts } from "../../api/actions";
import { plannerActs } from "../../api/planner";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { AnchorLink } from "../../parts/links";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";
import { actorWords, isPlanner } from "../../words/actor";
import { duration } from "../../words/duration";
import { scheduleWords } from "../../words/schedule";

export function PlannerNotice({ endpoint }: { endpoint: Endpoint }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const undo = useAction(() => acts.clearHints(endpoint.id), {
    done: `${endpoint.name} runs ${scheduleWords(endpoint)} again, until a rule or the model asks for something else`,
  });
  const stop = useAction(
    async () => {
      await plannerActs.setEndpointMode(endpoint.id, "off");
      return acts.clearHints(endpoint.id);
    },
    { done: `Undone; the planner is off for ${endpoint.name}` },
  );
  const { interval_hint: every, one_shot_hint: once } = endpoint;
  const hint = [every, once].find((each) => each && isPlanner(each.author));
  if (!hint || endpoint.status === "archived") return null;
  return (
    <Alert color="cyan" icon={<IconBulb />} title="The planner changed this schedule" role="note">
      <Text size="sm" className="breaks">
        {every && isPlanner(every.author) ? (
          <>
            Every <b>{duration(every.interval_ms)}</b> instead of <b>{scheduleWords(endpoint)}</b>, until{" "}
            <When at={every.expires_at} mode="local" />.
          </>
        ) : (
          <>
            One extra run, <When at={once?.next_run_at} />.
          </>
        )}{" "}
        Set by {actorWords(hint.author)}
        {hint.reason ? <>: “{hint.reason}”.</> : "."} Expires automatically.
      </Text>
      <Group gap="xs" mt="xs">
        {mayRun && (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconArrowBackUp size={14} />}
            loading={undo.isPending}
            onClick={() => undo.mutate(undefined)}
          >
            Undo
          </Button>
        )}
        {mayRun && mayWrite && (
          <Button size="xs" variant="default" loading={stop.isPending} onClick={() => stop.mutate(undefined)}>
            Undo and turn the planner off here
          </Button>
        )}
        <AnchorLink to="/planner" search={{ tab: "done" }} size="sm" underline="always">
          All planner changes
        </AnchorLink>
      </Group>
    </Alert>
  );
}
