/** What an entry of the audit trail says beside the act itself: which verb, what changed, and why. */
import { duration } from "./duration";
import { changeWords } from "./plan";

export function auditWords(detail: Record<string, unknown>): string {
  const said = (name: string): string => {
    const value = detail[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const every = Number(detail.interval_ms);
  const what = [
    said("verb") || said("mode"),
    said("kind") && (every ? `every ${duration(every)}` : said("kind")),
    said("version") && `version ${said("version")}`,
    Array.isArray(detail.fields) ? detail.fields.join(", ") : "",
    changes(detail.before, detail.after),
  ]
    .filter(Boolean)
    .join(", ");
  return [what, said("reason")].filter(Boolean).join(": ");
}

/** One line for each part that differs; an installation's quotas are many in one. */
function changes(before: unknown, after: unknown): string {
  if (before === undefined && after === undefined) return "";
  const [old, latest] = [parts(before), parts(after)];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(latest)])].filter(
    (field) => JSON.stringify(old[field]) !== JSON.stringify(latest[field]),
  );
  return fields
    .map((field) => changeWords({ field, before: old[field], after: latest[field] }).replace(/^: /, ""))
    .join(", ");
}

const parts = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { "": value };
