/**
 * How long an endpoint waited between runs, over time; runs that a hint brought stand on its colour, planned ones are
 * hollow.
 */
import { Group, Text } from "@mantine/core";
import type { Endpoint, Planned, Run } from "../api/types";
import { useNow } from "../time/clock";
import { isForever, local, utc } from "../time/format";
import { useTimeMode } from "../time/When";
import { span } from "../words/duration";
import { INK, runTone, sourceWords } from "../words/state";
import { Measured } from "./Measured";

type Ended = Pick<Run, "id" | "status" | "source" | "trigger">;
export type Waited = { at: number; ms: number; run: Ended | null };

/** Each run with the time since the one before it, oldest first; the first has none before it. Planned ones follow. */
export function waits(runs: (Ended & Pick<Run, "started_at">)[], planned: Pick<Planned, "next_run_at">[]): Waited[] {
  const past = runs
    .filter((run) => run.status !== "missed")
    .map((run) => ({ at: Date.parse(run.started_at), run }))
    .sort((a, b) => a.at - b.at);
  const future = planned.flatMap((each) =>
    isForever(each.next_run_at) ? [] : [{ at: Date.parse(each.next_run_at), run: null }],
  );
  const all = [...past, ...future];
  return all.flatMap((each, place) => {
    const before = all[place - 1];
    return before && each.at > before.at ? [{ at: each.at, ms: each.at - before.at, run: each.run }] : [];
  });
}

const HEIGHT = 170;
const BOTTOM = 20;

type Props = { endpoint: Endpoint; runs: Run[]; planned: Planned[] };

export function IntervalChart({ endpoint, runs, planned }: Props) {
  const nowMs = useNow();
  const { mode } = useTimeMode();
  const first = Math.min(nowMs - 10_000, ...runs.map((run) => Date.parse(run.started_at)));
  const reach = (nowMs - first) / 3; // the future takes a quarter of the picture
  const points = waits(runs, planned).filter((each) => each.at <= nowMs + reach);
  if (points.length < 2)
    return (
      <Text size="sm" c="dimmed">
        The chart appears after three runs.
      </Text>
    );
  const limits = [
    ["minimum", endpoint.min_interval_ms],
    ["baseline", endpoint.interval_ms],
  ] as const;
  const known = limits.flatMap(([name, ms]) => (ms ? [{ name, ms }] : []));
  const sizes = [...points.map((each) => each.ms), ...known.map((each) => each.ms)];
  const waited = points.map((each) => each.ms);
  const [longest, shortest] = [Math.max(...waited), Math.min(...waited)];
  const shownMs = [...new Set([longest, shortest])].map((ms) => ({
    ms,
    text: span(ms < 2000 ? ms : Math.round(ms / 1000) * 1000),
  }));
  const LEFT = Math.max(44, 12 + 6 * Math.max(...shownMs.map((each) => each.text.length)));
  const low = Math.log(Math.min(...sizes) / 1.4);
  const high = Math.log(Math.max(...sizes) * 1.4);
  const y = (ms: number) => 4 + (1 - (Math.log(ms) - low) / (high - low)) * (HEIGHT - BOTTOM - 4);
  const isLong = nowMs - first > 20 * 3_600_000;
  const written = (at: number) => {
    const text = new Date(at).toISOString();
    return mode === "utc" ? utc(text) : local(text);
  };
  const label = (at: number) => (isLong ? written(at).slice(5, 16) : written(at).slice(11, 16));
  const bands = hinted(points);
  const tones = [...new Set(points.flatMap((each) => (each.run ? [runTone(each.run.status)] : [])))];
  const hint = endpoint.interval_hint;
  const until = hint ? Math.min(Date.parse(hint.expires_at), nowMs + reach) : 0;
  const draw = (width: number) => {
    const x = (at: number) => LEFT + ((at - first) / (nowMs + reach - first)) * Math.max(0, width - LEFT - 6);
    const path = points
      .map((each, place) => `${place ? "L" : "M"}${x(each.at).toFixed(1)} ${y(each.ms).toFixed(1)}`)
      .join("");
    return (
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Time between the last ${points.filter((each) => each.run).length} runs, from ${span(Math.min(...sizes))} to ${span(Math.max(...sizes))}`}
        style={{ display: "block" }}
      >
        {bands.map((band) => (
          <rect
            key={band.from}
            x={x(band.from) - 3}
            width={Math.max(6, x(band.to) - x(band.from) + 6)}
            y={0}
            height={HEIGHT - BOTTOM}
            fill="var(--calm)"
            fillOpacity={0.13}
          />
        ))}
        {until > nowMs && (
          <rect
            x={x(nowMs)}
            width={x(until) - x(nowMs)}
            y={0}
            height={HEIGHT - BOTTOM}
            fill="var(--calm)"
            fillOpacity={0.13}
          />
        )}
        {known.map((each) => (
          <g key={each.name}>
            <line x1={LEFT} x2={width} y1={y(each.ms)} y2={y(each.ms)} stroke="var(--idle)" strokeDasharray="3 4" />
            <text
              x={width - 6}
              y={y(each.ms) < 20 ? y(each.ms) + 13 : y(each.ms) - 9}
              fontSize={10}
              fill="var(--quiet)"
              textAnchor="end"
            >
              {each.name} {span(each.ms)}
            </text>
          </g>
        ))}
        {shownMs.map(
          ({ ms, text }) =>
            (ms === longest || y(ms) - y(longest) > 14) && (
              <text key={ms} x={LEFT - 6} y={y(ms) + 3} fontSize={10} fill="var(--quiet)" textAnchor="end">
                {text}
              </text>
            ),
        )}
        <line x1={LEFT} x2={width} y1={HEIGHT - BOTTOM + 0.5} y2={HEIGHT - BOTTOM + 0.5} stroke="var(--grid)" />
        <line x1={x(nowMs)} x2={x(nowMs)} y1={0} y2={HEIGHT - BOTTOM} stroke="var(--idle)" />
        <path d={path} fill="none" stroke="var(--idle)" strokeWidth={1} />
        {points.map((each) => (
          <circle
            key={each.at}
            cx={x(each.at)}
            cy={y(each.ms)}
            r={points.length > 80 ? 2.5 : 3.5}
            fill={each.run ? INK[runTone(each.run.status)] : "var(--mantine-color-body)"}
            stroke={each.run ? "none" : "var(--idle)"}
            strokeWidth={1.5}
          >
            <title>{`${label(each.at)}, ${span(each.ms)} after the previous run, ${each.run ? `${each.run.status}, ${each.run.trigger === "schedule" ? sourceWords(each.run.source) : each.run.trigger}` : "planned"}`}</title>
          </circle>
        ))}
        {x(nowMs) - LEFT > 86 && (
          <text x={LEFT} y={HEIGHT - 5} fontSize={10} fill="var(--quiet)">
            {label(first)}
          </text>
        )}
        <text x={x(nowMs)} y={HEIGHT - 5} fontSize={10} fill="var(--quiet)" textAnchor="middle">
          now
        </text>
        {width - x(nowMs) > 86 && (
          <text x={width - 6} y={HEIGHT - 5} fontSize={10} fill="var(--quiet)" textAnchor="end">
            {label(nowMs + reach)}
          </text>
        )}
      </svg>
    );
  };
  return (
    <div>
      <Measured height={HEIGHT}>{draw}</Measured>
      <Group gap="md" mt={4}>
        {tones.map((tone) => (
          <Key key={tone} fill={INK[tone]}>
            {[
              ...new Set(
                points.flatMap((each) => (each.run && runTone(each.run.status) === tone ? [each.run.status] : [])),
              ),
            ].join(", ")}
          </Key>
        ))}
        <Key fill="transparent" line="var(--idle)">
          planned
        </Key>
        {(bands.length > 0 || until > nowMs) && (
          <Key fill="var(--calm)" square>
            hint active
          </Key>
        )}
      </Group>
    </div>
  );
}

function Key({ fill, line, square, children }: { fill: string; line?: string; square?: true; children: string }) {
  return (
    <Group gap={6}>
      <span
        style={{
          width: 9,
          height: 9,
          borderRadius: square ? 2 : 5,
          background: fill,
          opacity: square ? 0.35 : 1,
          border: line ? `1.5px solid ${line}` : undefined,
        }}
      />
      <Text size="xs" c="dimmed">
        {children}
      </Text>
    </Group>
  );
}

/** Stretches of runs that a hint brought. */
function hinted(points: Waited[]): { from: number; to: number }[] {
  const bands: { from: number; to: number }[] = [];
  let isOpen = false;
  for (const each of points) {
    const byHint = each.run?.source.startsWith("ai-") ?? false;
    const last = bands.at(-1);
    if (byHint && isOpen && last) last.to = each.at;
    else if (byHint) bands.push({ from: each.at - each.ms, to: each.at });
    isOpen = byHint;
  }
  return bands;
}
