/**
 * Server-sent events read by hand: unlike EventSource this sees heartbeats, resumes after a pause, and can be tested.
 */
import { noteUnreached } from "./reach";
import { tenantHeader } from "./tenant";

export type Message = { id: string; event: string; data: string };
export type LiveState = "connecting" | "live" | "stale" | "paused";

const SILENCE_MS = 40_000; // the server is heard at least every 15 s
const RETRY_MS_MAX = 30_000;

/** Feed it text as it comes; it calls back for each whole message. Comments are heartbeats. */
export function makeParser(onMessage: (message: Message) => void): (chunk: string) => void {
  let rest = "";
  let message: Message = { id: "", event: "message", data: "" };
  return (chunk) => {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (message.data || message.id) onMessage({ ...message, data: message.data.replace(/\n$/, "") });
        message = { id: "", event: "message", data: "" };
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") message.data += `${value}\n`;
      else if (field === "id") message.id = value;
      else if (field === "event") message.event = value;
    }
  };
}

export type StreamOptions = {
  url: string;
  onMessage: (message: Message) => void;
  onState: (state: LiveState) => void;
  /** After a gap that could not be resumed (the first connection is none). */
  onGap: () => void;
};

/** One connection that comes back by itself and rests while the page is hidden. */
export class Stream {
  private lastId = "";
  private failures = 0;
  private stopped = false;
  private hasBeenLive = false;
  private abort: AbortController | undefined;
  private retry: number | undefined;
  private watch: number | undefined;

  constructor(private readonly options: StreamOptions) {}

  start(): void {
    document.addEventListener("visibilitychange", this.onVisibility);
    this.open();
  }

  stop(): void {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.close();
  }

  /** Connect at once instead of after the rest of the wait: the server answers again. */
  wake(): void {
    if (this.stopped || this.abort || document.hidden) return;
    this.failures = 0;
    this.open();
  }

  private onVisibility = (): void => {
    if (document.hidden) {
      this.close();
      this.options.onState("paused");
    } else if (!this.abort) {
      this.failures = 0;
      this.open();
    }
  };

  private close(): void {
    window.clearTimeout(this.retry);
    window.clearTimeout(this.watch);
    this.abort?.abort();
    this.abort = undefined;
  }

  private open(): void {
    this.close();
    const abort = new AbortController();
    this.abort = abort;
    this.options.onState(this.failures ? "stale" : "connecting");
    this.read(abort).catch(() => {
      if (this.stopped || abort.signal.aborted) return;
      this.lost();
    });
  }

  private lost(): void {
    this.close();
    this.failures += 1;
    this.options.onState("stale");
    const wait = Math.min(RETRY_MS_MAX, 500 * 2 ** this.failures) * (0.75 + Math.random() / 2);
    this.retry = window.setTimeout(() => this.open(), wait);
  }

  private heard(): void {
    window.clearTimeout(this.watch);
    this.watch = window.setTimeout(() => this.lost(), SILENCE_MS);
  }

  private async read(abort: AbortController): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream", ...tenantHeader() };
    if (this.lastId) headers["Last-Event-ID"] = this.lastId;
    this.heard();
    const asked = fetch(this.options.url, { headers, signal: abort.signal, credentials: "same-origin" });
    const response = await asked.catch((fault: unknown) => {
      if (!abort.signal.aborted) noteUnreached();
      throw fault;
    });
    if (!response.ok || !response.body) {
      if (response.status === 400 || response.status === 410 || response.status === 422) this.lastId = "";
      throw new Error(`stream refused with ${response.status}`);
    }
    if (this.hasBeenLive && !this.lastId) this.options.onGap();
    this.hasBeenLive = true;
    this.failures = 0;
    this.options.onState("live");
    const parse = makeParser((message) => {
      if (message.id) this.lastId = message.id;
      if (message.data) this.options.onMessage(message);
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error("stream ended");
      this.heard();
      parse(value);
    }
  }
}
