/** An instant in the three ways people want it. */
import { span } from "../words/duration";

export type TimeMode = "relative" | "local" | "utc";

const MINUTE = 60_000;
const FOREVER = Date.parse("9999-01-01T00:00:00Z");

export function isForever(at: string | null | undefined): boolean {
  return !!at && Date.parse(at) >= FOREVER;
}

export function relative(at: string, nowMs: number): string {
  const away = Date.parse(at) - nowMs;
  if (Math.abs(away) < 1000) return "now";
  if (away > 0) return `in ${span(away)}`;
  // What is over need not count seconds.
  return `${span(away < -MINUTE ? Math.ceil(away / MINUTE) * MINUTE : away)} ago`;
}

export function utc(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function local(at: string): string {
  const moment = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return (
    `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())} ` +
    `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`
  );
}

/** With its date and its zone, for what is not read beside the present time. */
export function inFull(at: string, mode: TimeMode): string {
  if (isForever(at)) return "never";
  if (mode === "utc") return utc(at);
  const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" })
    .formatToParts(new Date(at))
    .find((part) => part.type === "timeZoneName");
  return `${local(at)} ${zone?.value ?? ""}`.trim();
}

/** Today's instants need no date. */
export function compact(text: string, today: string): string {
  return text.startsWith(`${today} `) ? text.slice(today.length + 1) : text;
}

export function inMode(at: string, mode: TimeMode, nowMs: number): string {
  if (isForever(at)) return "never";
  if (mode === "relative") return relative(at, nowMs);
  const today = new Date(nowMs).toISOString();
  return mode === "utc" ? compact(utc(at), utc(today).slice(0, 10)) : compact(local(at), local(today).slice(0, 10));
}
