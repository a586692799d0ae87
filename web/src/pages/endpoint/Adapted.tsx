/** What a rule or a model changed here, in one sentence, and the way back. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { IconArrowBackUp, IconBulb } from "@tabler/icons-react";
import { acts } from "../../api/acts";
import { plannerActs } from "../../api/planner";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { AnchorLink } from "../../parts/links";
import { useAct } from "../../parts/useAct";
import { When } from "../../time/When";
import { actorWords, isPlanner } from "../../words/actor";
import { duration } from "../../words/duration";
import { scheduleWords } from "../../words/schedule";

export function Adapted({ endpoint }: { endpoint: Endpoint }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const undo = useAct(() => acts.clearHints(endpoint.id), {
    done: `${endpoint.name} runs ${scheduleWords(endpoint)} again, until a rule or the model asks for something else`,
  });
  const stop = useAct(
    async () => {
      await plannerActs.setEndpointMode(endpoint.id, "off");
      return acts.clearHints(endpoint.id);
    },
    { done: `Undone, and the planner leaves ${endpoint.name} alone` },
  );
  const { interval_hint: every, one_shot_hint: once } = endpoint;
  const hint = [every, once].find((each) => each && isPlanner(each.author));
  if (!hint || endpoint.status === "archived") return null;
  return (
    <Alert color="cyan" icon={<IconBulb />} title="The planner changed when this runs" role="note">
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
        It was {actorWords(hint.author)}
        {hint.reason ? <>: “{hint.reason}”.</> : "."} It ends by itself.
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
            Undo, and keep the planner off it
          </Button>
        )}
        <AnchorLink to="/planner" search={{ tab: "done" }} size="sm" underline="always">
          All that the planner did
        </AnchorLink>
      </Group>
    </Alert>
  );
}
