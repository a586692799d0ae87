/** A back-test as a picture: how far apart runs would have been, now and with the change, over what is recorded. */
import { Group, Select, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import type { Backtest } from "../api/planner";
import { local, utc } from "../time/format";
import { useTimeMode, When } from "../time/When";
import { callsWords, failuresWords } from "../words/backtest";
import { span } from "../words/duration";
import { AnchorLink } from "./links";
import { Measured } from "./Measured";

const HEIGHT = 160;
const BOTTOM = 20;
const LISTED = 20;
const NAMED = 4;

type Replayed = Backtest["runs"]["present"];
type Waited = { from: number; to: number };

/** From each run to the next. */
function waits(runs: Replayed, endpoint: string): Waited[] {
  const times = runs
    .filter((run) => run.endpoint === endpoint)
    .map((run) => Date.parse(run.at))
    .sort((a, b) => a - b);
  return times.flatMap((to, place) => {
    const from = times[place - 1];
    return from !== undefined && to > from ? [{ from, to }] : [];
  });
}

export function BacktestResult({ tested }: { tested: Backtest }) {
  const moved = tested.endpoints.find((each) => each.present !== each.changed) ?? tested.endpoints[0];
  const [chosen, choose] = useState<string | null>(null);
  const shown = tested.endpoints.find((each) => each.endpoint === chosen) ?? moved;
  const name = shown?.endpoint ?? "";
  const only = tested.differs.only_changed;
  return (
    <Stack gap="sm">
      <div role="status">
        <Text fw={600}>{callsWords(tested.calls)}</Text>
        <Text size="sm">{failuresWords(tested.failures)}</Text>
        <Text size="xs" c="dimmed">
          Played over {tested.calls.recorded.toLocaleString()} recorded runs of{" "}
          {tested.endpoints.length === 1
            ? tested.endpoints[0]?.endpoint
            : `${tested.endpoints.length} endpoints, all of the job: ${tested.endpoints
                .slice(0, NAMED)
                .map((each) => each.endpoint)
                .join(", ")}${tested.endpoints.length > NAMED ? " and others" : ""}`}
          , <When at={tested.begin} mode="local" /> to <When at={tested.end} mode="local" />. Between two runs, the last
          response is assumed.
          {tested.is_limited
            ? ` Only the newest ${tested.limit.toLocaleString()} runs of each endpoint are counted.`
            : ""}
          {tested.is_cut ? " It was ended at 60,000 runs." : ""}
        </Text>
      </div>
      {tested.faults.map((each) => (
        <Text key={each} size="sm" c="red" className="breaks">
          {each}
        </Text>
      ))}
      {tested.endpoints.length > 1 && (
        <Select
          aria-label="Endpoint shown"
          size="xs"
          w={240}
          allowDeselect={false}
          data={tested.endpoints.map((each) => each.endpoint)}
          value={name}
          onChange={choose}
        />
      )}
      <Picture tested={tested} name={name} />
      {only.length > 0 && (
        <div>
          <Text size="sm" fw={600} mb={4}>
            Added decisions
          </Text>
          <Table verticalSpacing={3} withRowBorders={false}>
            <Table.Tbody>
              {only.slice(0, LISTED).map((each, place) => (
                <Table.Tr key={place}>
                  <Table.Td className="nowrap" w={150}>
                    {each.run_id ? (
                      <AnchorLink to="/runs/$run" params={{ run: each.run_id }} size="sm">
                        <When at={each.at} />
                      </AnchorLink>
                    ) : (
                      <When at={each.at} />
                    )}
                  </Table.Td>
                  <Table.Td className="breaks">
                    <Text size="sm">
                      <b>{each.rule}</b>: {each.does}
                      {tested.endpoints.length > 1 ? `, ${each.endpoint}` : ""}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {only.length > LISTED && (
            <Text size="xs" c="dimmed">
              and {only.length - LISTED} more
            </Text>
          )}
        </div>
      )}
      {tested.differs.only_present.length > 0 && (
        <Text size="sm" c="dimmed">
          The change omits{" "}
          {tested.differs.only_present.length === 1
            ? "one decision"
            : `${tested.differs.only_present.length} decisions`}{" "}
          that the current rules make.
        </Text>
      )}
    </Stack>
  );
}

function Picture({ tested, name }: { tested: Backtest; name: string }) {
  const { mode } = useTimeMode();
  const lines = [waits(tested.runs.present, name), waits(tested.runs.changed, name)] as const;
  const sizes = lines.flat().map((each) => each.to - each.from);
  if (!sizes.length)
    return (
      <Text size="sm" c="dimmed">
        Fewer than two runs of {name} in this time: there is no interval to draw.
      </Text>
    );
  const LEFT = Math.max(48, 12 + 6 * Math.max(span(Math.max(...sizes)).length, span(Math.min(...sizes)).length));
  const [first, last] = [Date.parse(tested.begin), Date.parse(tested.end)];
  const [low, high] = [Math.log(Math.min(...sizes) / 1.4), Math.log(Math.max(...sizes) * 1.4)];
  const y = (ms: number) => 4 + (1 - (Math.log(ms) - low) / (high - low)) * (HEIGHT - BOTTOM - 4);
  const bands = tested.failures
    .filter((each) => each.endpoint === name)
    .map((each) => ({
      from: Date.parse(each.failed_at),
      to: each.recovered_at ? Date.parse(each.recovered_at) : last,
    }));
  const label = (at: string) => (mode === "utc" ? utc(at) : local(at)).slice(5, 16);
  const [longest, shortest] = [Math.max(...sizes), Math.min(...sizes)];
  const draw = (width: number) => {
    const x = (at: number) => LEFT + ((at - first) / Math.max(1, last - first)) * Math.max(0, width - LEFT - 6);
    const path = (line: Waited[]) =>
      line
        .map(
          (each, place) =>
            `${place ? "L" : "M"}${x(each.from).toFixed(1)} ${y(each.to - each.from).toFixed(1)}L${x(each.to).toFixed(1)} ${y(each.to - each.from).toFixed(1)}`,
        )
        .join("");
    return (
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Time between runs of ${name}: ${lines[0].length + 1} runs now, ${lines[1].length + 1} with the change`}
        style={{ display: "block" }}
      >
        {bands.map((band) => (
          <rect
            key={band.from}
            x={x(band.from)}
            width={Math.max(3, x(band.to) - x(band.from))}
            y={0}
            height={HEIGHT - BOTTOM}
            fill="var(--bad)"
            fillOpacity={0.13}
          />
        ))}
        {[...new Set([longest, shortest])].map(
          (ms) =>
            (ms === longest || y(ms) - y(longest) > 14) && (
              <text key={ms} x={LEFT - 6} y={y(ms) + 3} fontSize={10} fill="var(--quiet)" textAnchor="end">
                {span(ms)}
              </text>
            ),
        )}
        <line x1={LEFT} x2={width} y1={HEIGHT - BOTTOM + 0.5} y2={HEIGHT - BOTTOM + 0.5} stroke="var(--grid)" />
        <path d={path(lines[0])} fill="none" stroke="var(--idle)" strokeWidth={5} strokeOpacity={0.55} />
        <path d={path(lines[1])} fill="none" stroke="var(--calm)" strokeWidth={1.8} />
        <text x={LEFT} y={HEIGHT - 5} fontSize={10} fill="var(--quiet)">
          {label(tested.begin)}
        </text>
        <text x={width - 6} y={HEIGHT - 5} fontSize={10} fill="var(--quiet)" textAnchor="end">
          {label(tested.end)}
        </text>
      </svg>
    );
  };
  return (
    <div>
      <Measured height={HEIGHT}>{draw}</Measured>
      <Group gap="md" mt={4}>
        {(
          [
            ["var(--idle)", "current"],
            ["var(--calm)", "with the change"],
            ...(bands.length ? [["var(--bad)", "failing"]] : []),
          ] as [string, string][]
        ).map(([ink, words]) => (
          <Group key={words} gap={6} wrap="nowrap">
            <span style={{ width: 10, height: 10, borderRadius: 2, background: ink }} />
            <Text size="xs" c="dimmed">
              {words}
            </Text>
          </Group>
        ))}
      </Group>
    </div>
  );
}
