/** Runs by hour, stacked by how they ended. */
import { Group, Text } from "@mantine/core";
import { local, utc } from "../time/format";
import { useTimeMode } from "../time/When";
import { INK, runTone, type Tone } from "../words/state";
import { Measured } from "./Measured";

type Hour = { at: string; runs: Record<string, number> };
const STACK: Tone[] = ["good", "calm", "idle", "warn", "bad"];
const NAMES: Record<Tone, string> = {
  good: "success",
  calm: "running",
  idle: "missed",
  warn: "blocked or lost",
  bad: "failed",
};

const LEFT = 40; // for the numbers, which bars would cover

const HOUR_MS = 3_600_000;
type Props = { hours: Hour[]; height?: number; open?: (since: string, until: string) => void };

/** `open` is called for the hour that was clicked. */
export function HourChart({ hours, height = 150, open }: Props) {
  const { mode } = useTimeMode();
  const counted = hours.map((hour) => ({ at: hour.at, tones: byTone(hour.runs) }));
  const most = Math.max(1, ...counted.map(({ tones }) => sum(tones)));
  const label = (at: string) =>
    (mode === "utc" ? utc(at) : local(at)).slice(...(hours.length > 24 ? ([5, 16] as const) : ([11, 16] as const)));
  const labelPx = hours.length > 24 ? 64 : 30;
  const total = counted.reduce((all, hour) => all + sum(hour.tones), 0);
  const inner = height - 18;
  const draw = (width: number) => {
    const step = Math.max(0, width - LEFT) / Math.max(1, hours.length);
    const every = Math.ceil(hours.length / Math.max(2, Math.floor(width / (labelPx + 40))));
    return (
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${total} runs in the last ${hours.length} hours`}
        style={{ display: "block" }}
      >
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line
              x1={LEFT}
              x2={width}
              y1={inner * (1 - share) + 0.5}
              y2={inner * (1 - share) + 0.5}
              stroke="var(--grid)"
            />
            {share > 0 && (Number.isInteger(most * share) || most > 20) && (
              <text
                x={LEFT - 6}
                y={Math.max(9, inner * (1 - share) + 3)}
                fontSize={10}
                fill="var(--quiet)"
                textAnchor="end"
              >
                {figure(Math.round(most * share))}
              </text>
            )}
          </g>
        ))}
        {counted.map((hour, place) => {
          let top = inner;
          return (
            <g key={hour.at}>
              {STACK.map((tone) => {
                const size = (hour.tones[tone] / most) * (inner - 4);
                top -= size;
                return (
                  size > 0 && (
                    <rect
                      key={tone}
                      x={LEFT + place * step + 1}
                      y={top}
                      width={Math.max(1, step - 2)}
                      height={size}
                      fill={INK[tone]}
                      rx={1}
                    />
                  )
                );
              })}
              <rect
                x={LEFT + place * step}
                y={0}
                width={step}
                height={inner}
                fill="transparent"
                {...(open
                  ? {
                      style: { cursor: "pointer" },
                      onClick: () => open(hour.at, new Date(Date.parse(hour.at) + HOUR_MS).toISOString()),
                    }
                  : {})}
              >
                <title>{`${label(hour.at)}: ${
                  STACK.filter((tone) => hour.tones[tone])
                    .map((tone) => `${hour.tones[tone]} ${NAMES[tone]}`)
                    .join(", ") || "no runs"
                }${open ? ". Click for its runs." : ""}`}</title>
              </rect>
              {place % every === 0 && LEFT + place * step + labelPx <= width && (
                <text x={LEFT + place * step + 1} y={height - 4} fontSize={10} fill="var(--quiet)">
                  {label(hour.at)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    );
  };
  return (
    <div>
      <Measured height={height}>{draw}</Measured>
      <Group gap="md" mt={4}>
        {STACK.filter((tone) => counted.some((hour) => hour.tones[tone])).map((tone) => (
          <Group key={tone} gap={6}>
            <span style={{ width: 10, height: 10, borderRadius: 2, background: INK[tone] }} />
            <Text size="xs" c="dimmed">
              {statusesOf(hours, tone).join(", ")}
            </Text>
          </Group>
        ))}
      </Group>
    </div>
  );
}

/** Short enough for the axis, however many there are. */
const figure = (count: number): string =>
  count < 100_000 ? count.toLocaleString("en") : new Intl.NumberFormat("en", { notation: "compact" }).format(count);

/** The statuses behind a colour that are in the picture, by name: a legend that says all. */
export function statusesOf(hours: Hour[], tone: Tone): string[] {
  return [
    ...new Set(
      hours.flatMap((hour) => Object.keys(hour.runs).filter((status) => hour.runs[status] && runTone(status) === tone)),
    ),
  ].sort();
}

function byTone(runs: Record<string, number>): Record<Tone, number> {
  const found: Record<Tone, number> = { good: 0, bad: 0, warn: 0, calm: 0, idle: 0 };
  for (const [status, count] of Object.entries(runs)) found[runTone(status)] += count;
  return found;
}

const sum = (tones: Record<Tone, number>) => STACK.reduce((all, tone) => all + tones[tone], 0);
