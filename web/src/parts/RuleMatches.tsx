/** Recorded runs, oldest left: full bars are those at which a rule would have fired. */
import { Stack, Text } from "@mantine/core";
import type { RulesTested } from "../api/planner";
import { local } from "../time/format";

const HEIGHT = 34;

export function RuleMatches({ tested }: { tested: RulesTested }) {
  const count = tested.runs.length;
  if (!count)
    return (
      <Text size="sm" c="dimmed">
        No recorded runs to test the rule on.
      </Text>
    );
  const fired = tested.runs.filter((run) => run.fired.length).length;
  const fault = tested.runs.flatMap((run) => run.faults)[0];
  return (
    <Stack gap={4}>
      <svg
        width="100%"
        height={HEIGHT}
        viewBox={`0 0 ${count} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${fired} of ${count} recorded runs`}
        style={{ display: "block" }}
      >
        {tested.runs.map((run, place) => (
          <rect
            key={run.run_id}
            x={place + 0.1}
            width={0.8}
            y={run.fired.length ? 0 : HEIGHT - 8}
            height={run.fired.length ? HEIGHT : 8}
            fill={run.fired.length ? "var(--calm)" : run.faults.length ? "var(--warn)" : "var(--idle)"}
            fillOpacity={run.fired.length ? 1 : 0.5}
          >
            <title>{`${local(run.at)}: ${run.fired.length ? "matches" : (run.faults[0] ?? "no match")}`}</title>
          </rect>
        ))}
      </svg>
      <Text size="sm" role="status">
        The rule would have matched {fired === 1 ? "once" : `${fired} times`} in the last {count} runs of{" "}
        {tested.endpoints.join(", ")}.
      </Text>
      {fault && (
        <Text size="xs" c="dimmed" className="breaks">
          Some runs could not be judged, and count as false: {fault}
        </Text>
      )}
    </Stack>
  );
}
