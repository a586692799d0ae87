/** A day as lanes: one line for each endpoint, a mark for each run, and where it slept; phases as bands behind them. */
import { Group, Text } from "@mantine/core";
import { Fragment } from "react";
import { took } from "../words/duration";
import { sourceWords } from "../words/state";
import { AnchorLink } from "./links";

export type Phase = { from: number; to: number; phase: string };
export type LaneRun = { minute: number; status: string; source: string; why?: string | undefined };
export type Lane = {
  name: string;
  group: string;
  id?: string | undefined;
  asleep: { from: number; to: number }[];
  runs: LaneRun[];
};

const MARKS: [string, string][] = [
  ["var(--good)", "own schedule"],
  ["var(--calm)", "interval hint"],
  ["var(--warn)", "one-shot hint"],
  ["var(--bad)", "failed"],
];

export function inkOf(run: LaneRun): string {
  if (run.status === "running") return "var(--idle)";
  if (run.status !== "success") return "var(--bad)";
  return run.source === "ai-interval" ? "var(--calm)" : run.source === "ai-oneshot" ? "var(--warn)" : "var(--good)";
}

export function LaneKey() {
  return (
    <Group gap="md">
      {MARKS.map(([ink, words]) => (
        <Group key={words} gap={6} wrap="nowrap">
          <span className="dot" style={{ background: ink }} />
          <Text size="xs" c="dimmed">
            {words}
          </Text>
        </Group>
      ))}
      <Group gap={6} wrap="nowrap">
        <span className="nap" />
        <Text size="xs" c="dimmed">
          paused
        </Text>
      </Group>
    </Group>
  );
}

type Props = { minutes: number; phases: Phase[]; lanes: Lane[]; now?: number | undefined };

/** `now` hides what comes after it, and is drawn as a line. */
export function RunLanes({ minutes, phases, lanes, now = minutes }: Props) {
  const at = (minute: number) => `${(Math.min(Math.max(minute, 0), minutes) / minutes) * 100}%`;
  const groups = [...new Set(lanes.map((lane) => lane.group))];
  return (
    <div className="lanes">
      <div />
      <div className="lane-phases" aria-hidden="true">
        {phases.map((each) => (
          <Text
            key={each.from}
            size="xs"
            c="dimmed"
            className="clip"
            style={{ left: at(each.from), width: `calc(${at(each.to)} - ${at(each.from)})` }}
          >
            {each.phase}
          </Text>
        ))}
      </div>
      {groups.map((group) => (
        <Fragment key={group}>
          {group && (
            <>
              <Text size="xs" fw={600} c="dimmed" className="lane-group">
                {group}
              </Text>
              <div />
            </>
          )}
          {lanes
            .filter((lane) => lane.group === group)
            .map((lane) => {
              const shown = lane.runs.filter((run) => run.minute <= now);
              return (
                <Fragment key={lane.name}>
                  <Text size="sm" className="clip lane-name" title={lane.name} component="div">
                    {lane.id ? (
                      <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: lane.id }} size="sm">
                        {lane.name}
                      </AnchorLink>
                    ) : (
                      lane.name
                    )}
                  </Text>
                  <svg className="lane" role="img" aria-label={`${lane.name}: ${shown.length} runs`}>
                    {phases.map((each, place) =>
                      place % 2 ? (
                        <rect
                          key={each.from}
                          x={at(each.from)}
                          width={`${((each.to - each.from) / minutes) * 100}%`}
                          y="0"
                          height="100%"
                          fill="var(--band)"
                        />
                      ) : null,
                    )}
                    <line x1="0" x2="100%" y1="50%" y2="50%" stroke="var(--grid)" />
                    {lane.asleep
                      .filter((nap) => nap.from < now)
                      .map((nap) => (
                        <rect
                          key={nap.from}
                          x={at(nap.from)}
                          width={`${((Math.min(nap.to, now) - Math.max(nap.from, 0)) / minutes) * 100}%`}
                          y="5"
                          height="14"
                          rx="4"
                          fill="var(--nap)"
                        />
                      ))}
                    {shown.map((run, place) => (
                      <circle key={`${run.minute}-${place}`} cx={at(run.minute)} cy="12" r="3.6" fill={inkOf(run)}>
                        <title>{`${lane.name}, minute ${run.minute.toFixed(1)}: ${run.status}, by the ${sourceWords(run.source)}${run.why ? `. ${run.why}` : ""}`}</title>
                      </circle>
                    ))}
                    {now < minutes && (
                      <line
                        x1={at(now)}
                        x2={at(now)}
                        y1="0"
                        y2="100%"
                        stroke="var(--mantine-color-text)"
                        strokeOpacity={0.55}
                      />
                    )}
                  </svg>
                </Fragment>
              );
            })}
        </Fragment>
      ))}
      <div />
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          minute 0
        </Text>
        <Text size="xs" c="dimmed">
          {minutes}
        </Text>
      </Group>
    </div>
  );
}

type StepsProps = {
  minutes: number;
  phases: Phase[];
  points: { minute: number; value: number }[];
  now?: number | undefined;
  label: string;
  words: (value: number) => string;
  ink?: string;
};

/** One value over the day, as steps: what was measured, or how far apart runs were. */
export function Steps({ minutes, phases, points, now = minutes, label, words, ink = "var(--calm)" }: StepsProps) {
  const shown = points.filter((point) => point.minute <= now);
  const top = Math.max(...points.map((point) => point.value), 0) || 1;
  const x = (minute: number) => (minute / minutes) * 1000;
  const y = (value: number) => 56 - (value / top) * 50;
  let path = "";
  shown.forEach((point, place) => {
    const until = Math.min(shown[place + 1]?.minute ?? now, minutes);
    path += `${place ? "L" : "M"}${x(point.minute).toFixed(1)} ${y(point.value).toFixed(1)}L${x(until).toFixed(1)} ${y(point.value).toFixed(1)}`;
  });
  const last = shown.at(-1);
  return (
    <div>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" className="clip">
          {label}
        </Text>
        <Text size="sm" fw={600} className="tabular nowrap">
          {last ? words(last.value) : "–"}
        </Text>
      </Group>
      <svg
        viewBox="0 0 1000 60"
        preserveAspectRatio="none"
        width="100%"
        height={60}
        role="img"
        aria-label={`${label}, up to ${words(top)}`}
      >
        {phases.map((each, place) =>
          place % 2 ? (
            <rect
              key={each.from}
              x={x(each.from)}
              width={x(each.to - each.from)}
              y="0"
              height="60"
              fill="var(--band)"
            />
          ) : null,
        )}
        <path d={path} fill="none" stroke={ink} strokeWidth={2} vectorEffect="non-scaling-stroke" />
      </svg>
    </div>
  );
}

export const seconds = (value: number): string => took(value * 1000);
