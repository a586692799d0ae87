/** What happened in an execution, or would happen, as words and as states of a graph. */
import { Group, Stack, Text } from "@mantine/core";
import type { Moment } from "../../api/workflows";
import { useTimeMode, When } from "../../time/When";
import { actorWords } from "../../words/actor";
import { span } from "../../words/duration";
import type { StepState } from "./FlowGraph";

/**
 * `shown` is the tick up to which it has happened by now. What `isPlayed` has no day in the calendar: it is told from
 * its start.
 */
export function Moments({
  moments,
  shown = Infinity,
  isPlayed = false,
}: {
  moments: Moment[];
  shown?: number;
  isPlayed?: boolean;
}) {
  const start = isPlayed ? Date.parse(moments[0]?.at ?? "") : null;
  return (
    <Stack gap={6}>
      {moments.map((each) => (
        <Group key={each.number} justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
          <Text
            size="sm"
            className="breaks"
            c={each.tick <= shown ? undefined : "dimmed"}
            fs={each.tick <= shown ? undefined : "italic"}
          >
            {each.step && <b>{each.step}: </b>}
            <Told moment={each} start={start} />
          </Text>
          <Text size="xs" c="dimmed" component="span">
            {start === null ? <When at={each.at} /> : after(each.at, start)}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}

/** The instant that its text ends with, as the reader chose to see instants. */
function Told({ moment, start }: { moment: Moment; start: number | null }) {
  const { mode } = useTimeMode();
  const found = moment.until_at ? /^(.* (?:until|again at) )/s.exec(moment.text) : null;
  if (!found)
    return moment.actor && moment.text.startsWith(moment.actor)
      ? `${actorWords(moment.actor)}${moment.text.slice(moment.actor.length)}`
      : moment.text;
  if (start !== null && moment.until_at)
    return (
      <>
        {found[1]}
        {after(moment.until_at, start)}
      </>
    );
  return (
    <>
      {found[1]}
      <When at={moment.until_at} mode={mode === "utc" ? "utc" : "local"} />
    </>
  ); // 'until in 3m' is no English
}

const after = (at: string, start: number): string =>
  Date.parse(at) - start < 1000 ? "at the start" : `${span(Date.parse(at) - start)} after the start`;

type Where = { visits: Record<string, number>; steps: Record<string, unknown>; step: string; status: string };

/** Steps that it came to. What it left undone, because somebody skipped it or cancelled, is not done. */
export function statesOf(state: Where | undefined): Map<string, StepState> {
  const found = new Map<string, StepState>();
  for (const step of Object.keys(state?.visits ?? {})) found.set(step, isSkipped(state?.steps[step]) ? "left" : "done");
  if (!state?.step || state.status === "completed") return found;
  if (state.status !== "cancelled") found.set(state.step, state.status === "failed" ? "failed" : "here");
  else if (found.has(state.step)) found.set(state.step, "left");
  return found;
}

/** Instead of a result it has the reason why, and nothing else. */
function isSkipped(step: unknown): boolean {
  const result = (step as { result?: unknown } | undefined)?.result;
  return typeof result === "object" && result !== null && Object.keys(result).join() === "skipped";
}
