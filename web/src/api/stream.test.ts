import { expect, test } from "vitest";
import { type Message, makeParser } from "./stream";

function parsed(...chunks: string[]): Message[] {
  const found: Message[] = [];
  const feed = makeParser((message) => found.push(message));
  for (const chunk of chunks) feed(chunk);
  return found;
}

test("a message cut anywhere arrives whole", () => {
  const text = 'id: 7:1\nevent: run.finished\ndata: {"a":1}\n\n';
  const whole = [{ id: "7:1", event: "run.finished", data: '{"a":1}' }];
  for (let cut = 0; cut <= text.length; cut += 1) expect(parsed(text.slice(0, cut), text.slice(cut))).toEqual(whole);
});

test("lines of data are joined", () => expect(parsed("data: a\ndata: b\n\n")[0]?.data).toBe("a\nb"));

test("a comment is no message", () => expect(parsed(": heartbeat\n\n", ":\n\n")).toEqual([]));

test("carriage returns end lines too", () => expect(parsed("data: x\r\n\r\n")[0]?.data).toBe("x"));
