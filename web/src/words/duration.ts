/** Durations as Mainspring writes and reads them everywhere: `850ms`, `30s`, `1h30m`, `2d`. */

const UNITS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
];
const WRITTEN = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/;

/** Exact, every unit that is not zero; a part of a second behind a point. */
export function duration(ms: number): string {
  let left = Math.max(0, Math.round(ms));
  if (left > 1000 && left < 60_000 && left % 1000) return `${left / 1000}s`;
  let text = "";
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count) text += `${count}${unit}`;
    left -= count * size;
  }
  return text || "0s";
}

/** For reading: at most two units, the smaller ones left out. */
export function span(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(size)}ms`;
  const unit = size < 60_000 ? 1000 : size < 86_400_000 ? (size < 3_600_000 ? 1000 : 60_000) : 3_600_000;
  return duration(Math.floor(size / unit) * unit);
}

/** A measured time: three digits are enough. */
export function took(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "<1ms";
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}s`;
  return span(ms);
}

/** Milliseconds of a written duration, or null where it is none. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  const found = WRITTEN.exec(trimmed);
  if (!trimmed || !found) return null;
  const sizes = [86_400_000, 3_600_000, 60_000, 1000, 1];
  return sizes.reduce((sum, size, place) => sum + Math.round(Number(found[place + 1] ?? 0) * size), 0);
}
