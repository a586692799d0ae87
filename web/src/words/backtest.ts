/** What a back-test found, in sentences. */
import { span } from "./duration";

type Calls = { present: number; changed: number };
type Failure = { seen_after_s: { present: number | null; changed: number | null } };

export function callsWords({ present, changed }: Calls): string {
  if (present === changed) return `${present.toLocaleString()} calls either way.`;
  const more = Math.abs(changed - present).toLocaleString();
  return `${changed.toLocaleString()} calls instead of ${present.toLocaleString()}: ${more} ${changed > present ? "more" : "fewer"}.`;
}

/** Seconds gained at a failure: more than zero is sooner. What was not seen before it was over counts as never. */
function gained({ seen_after_s: { present, changed } }: Failure): number {
  const seen = (after: number | null) => after ?? Infinity;
  return seen(present) === seen(changed) ? 0 : seen(present) - seen(changed);
}

export function failuresWords(failures: Failure[]): string {
  if (!failures.length) return "No failures recorded in this period.";
  const gains = failures.map(gained);
  const sooner = gains.filter((each) => each > 0);
  const later = gains.filter((each) => each < 0);
  const best = Math.max(0, ...sooner.filter(Number.isFinite));
  const worst = Math.max(0, ...later.map((each) => -each).filter(Number.isFinite));
  const parts = [
    sooner.length ? `${sooner.length} seen sooner${best ? `, by up to ${span(best * 1000)}` : ""}` : "",
    later.length ? `${later.length} seen later${worst ? `, by up to ${span(worst * 1000)}` : ""}` : "",
    sooner.length + later.length < gains.length ? `${gains.length - sooner.length - later.length} seen as before` : "",
  ].filter(Boolean);
  return `${failures.length === 1 ? "Of the one failure" : `Of ${failures.length} failures`}: ${parts.join("; ")}.`;
}
