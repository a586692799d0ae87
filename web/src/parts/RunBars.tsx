/** The last runs as bars, oldest left: height is how long it took, colour how it ended. */
import type { Run } from "../api/types";
import { took } from "../words/duration";
import { INK, runTone } from "../words/state";

type Bar = Pick<Run, "id" | "status" | "duration_ms">;
const WIDTH = 5;
const HEIGHT = 26;

export function RunBars({ runs, places = 30 }: { runs: Bar[]; places?: number }) {
  const shown = runs.slice(0, places).reverse();
  const longest = Math.max(1, ...shown.map((run) => run.duration_ms ?? 0));
  const failed = shown.filter((run) => ["bad", "warn"].includes(runTone(run.status))).length;
  const label = shown.length ? `Last ${shown.length} runs, ${failed} of them not well` : "No runs yet";
  return (
    <svg width={places * WIDTH} height={HEIGHT} viewBox={`0 0 ${places * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label} style={{ display: "block", maxWidth: "100%" }}>
      {Array.from({ length: places - shown.length }, (_, place) => (
        <rect key={place} x={place * WIDTH} y={HEIGHT - 3} width={WIDTH - 1.5} height={3} rx={1} fill="var(--grid)" />
      ))}
      {shown.map((run, place) => {
        const height = 5 + (HEIGHT - 5) * Math.sqrt((run.duration_ms ?? 0) / longest);
        return (
          <rect key={run.id} x={(places - shown.length + place) * WIDTH} y={HEIGHT - height} width={WIDTH - 1.5} height={height} rx={1} fill={INK[runTone(run.status)]}>
            <title>{`${run.status}, ${took(run.duration_ms)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
