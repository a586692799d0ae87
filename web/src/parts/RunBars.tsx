/** The last runs as bars, oldest left: height is how long it took, colour how it ended. */
import type { Run } from "../api/types";
import { INK, runTone, type Tone } from "../words/state";

type Bar = Pick<Run, "id" | "status" | "duration_ms">;
const WIDTH = 5;
const BAR = 3.5;
const HEIGHT = 26;

export function RunBars({ runs, places = 30 }: { runs: Bar[]; places?: number }) {
  const shown = runs.slice(0, places).reverse();
  const longest = Math.max(1, ...shown.map((run) => run.duration_ms ?? 0));
  const failed = shown.filter((run) => ["bad", "warn"].includes(runTone(run.status))).length;
  const label = shown.length ? `Last ${shown.length} runs, ${failed} failed` : "No runs yet";
  // One path for each colour: a bar each would be thousands of elements in a list.
  const paths: Partial<Record<Tone, string>> = {};
  shown.forEach((run, place) => {
    const height = 5 + (HEIGHT - 5) * Math.sqrt((run.duration_ms ?? 0) / longest);
    const tone = runTone(run.status);
    paths[tone] =
      `${paths[tone] ?? ""}M${(places - shown.length + place) * WIDTH} ${HEIGHT}v${-height.toFixed(1)}h${BAR}V${HEIGHT}z`;
  });
  const empty = Array.from(
    { length: places - shown.length },
    (_, place) => `M${place * WIDTH} ${HEIGHT}v-3h${BAR}V${HEIGHT}z`,
  ).join("");
  return (
    <svg
      width={places * WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${places * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      style={{ display: "block", maxWidth: "100%" }}
    >
      <title>{label}</title>
      {empty && <path d={empty} fill="var(--grid)" />}
      {Object.entries(paths).map(([tone, path]) => (
        <path key={tone} d={path} fill={INK[tone as Tone]} />
      ))}
    </svg>
  );
}
