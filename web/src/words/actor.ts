/**
 * Who did it, as people say it: `user:ann@example.com` is Ann's address, `rule:night` a rule, `key:key_1` an API key.
 */
export function actorWords(actor: string): string {
  if (actor.startsWith("user:")) return actor.slice("user:".length);
  if (actor.startsWith("key:")) return `API key ${actor.slice("key:".length)}`;
  if (actor.startsWith("rule:")) return `rule ${actor.slice("rule:".length)}`;
  if (actor.startsWith("model:")) return `model ${actor.slice("model:".length)}`;
  if (actor.startsWith("execution:")) return `workflow execution ${actor.slice("execution:".length)}`;
  return PLACES[actor] ?? actor;
}

/** Whether a rule or a model did it, and no person asked for it. */
export const isPlanner = (actor: string): boolean =>
  actor === "planner" || actor.startsWith("rule:") || actor.startsWith("model:");

const PLACES: Record<string, string> = {
  cli: "the command line",
  mcp: "an assistant",
  config_dir: "the configuration directory",
  planner: "the planner",
};
