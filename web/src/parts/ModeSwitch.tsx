/** Live, shadow or off: the planner's kill switch, the same everywhere. Whoever stops it is offered to undo its advice. */
import { SegmentedControl, Text } from "@mantine/core";
import { useState } from "react";
import type { Mode } from "../api/planner";
import { Confirm } from "./Confirm";
import { useAct } from "./useAct";

const MEANING: Record<Mode, string> = {
  live: "Rules and the model act.",
  shadow: "What they would do is recorded, and nothing is changed.",
  off: "No rule is evaluated, no model is asked, and sessions in progress stop. Hints and pauses in force stay until they end or are undone.",
};

type Props = { mode: Mode; set: (mode: Mode, undo?: boolean) => Promise<{ mode: Mode; in_force: number; undone: number }>; done: string; label: string; disabled?: boolean };

export function ModeSwitch({ mode, set, done, label, disabled }: Props) {
  const [left, setLeft] = useState<{ mode: Mode; count: number } | null>(null);
  const change = useAct((wanted: Mode) => set(wanted), { done, after: (said) => setLeft(said.mode !== "live" && said.in_force ? { mode: said.mode, count: said.in_force } : null) });
  const undo = useAct(() => set(left?.mode ?? mode, true), { done: (said) => `Undone for ${said.undone}`, after: () => setLeft(null) });
  return (
    <div>
      <SegmentedControl value={mode} onChange={(value) => change.mutate(value as Mode)} disabled={disabled || change.isPending} aria-label={label} fullWidth
        data={[{ value: "live", label: "Live" }, { value: "shadow", label: "Shadow" }, { value: "off", label: "Off" }]} color={mode === "live" ? undefined : mode === "shadow" ? "orange.9" : "red.9"} />
      <Text size="xs" c="dimmed" mt={6}>{MEANING[mode]}</Text>
      <Confirm opened={left !== null} onClose={() => setLeft(null)} title="Undo what advice has in force?" verb="Undo" busy={undo.isPending} onConfirm={() => undo.mutate(undefined)}>
        {left?.count === 1 ? "A hint or pause of a rule or the model is" : `Hints and pauses of rules and the model are`} still in force on {left?.count === 1 ? "1 endpoint" : `${left?.count ?? 0} endpoints`}. To undo them brings their own schedules back. What people set stays.
      </Confirm>
    </div>
  );
}
