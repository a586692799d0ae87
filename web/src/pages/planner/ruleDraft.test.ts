import { expect, test } from "vitest";
import { ruleDraftOf, ruleOf } from "./ruleDraft";

test.each([
  { name: "busy", when: "body.depth > 200", for: 2, interval: "30s", ttl: "10m", cooldown: "1m", reason: "long" },
  { name: "wake", when: "ok", run: "in 5s", target: "other" },
  { name: "sleep", when: "!ok", pause: "forever" },
  { name: "wake and watch", when: "siblings.a.ok", resume: true, run: "now", interval: "30s", ttl: "5m" },
  { name: "calm", when: "ok", clear_hints: true },
])("$name is read into the form and sent back the same", (rule) => expect(ruleOf(ruleDraftOf(rule))).toEqual(rule));
