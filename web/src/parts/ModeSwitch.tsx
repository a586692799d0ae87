/** Live, ask, shadow or off: the planner's kill switch, the same everywhere. Whoever stops it is offered to undo its advice. */
import { SegmentedControl, Text } from "@mantine/core";
import { useState } from "react";
import type { Mode } from "../api/planner";
import { Confirm } from "./Confirm";
import { useAct } from "./useAct";

const MEANING: Record<Mode, string> = {
  live: "Rules and the model act.",
  ask: "What they would do is proposed, and a person approves or rejects it.",
  shadow: "What they would do is recorded, and nothing is changed.",
  off: "No rule is evaluated, no model is asked, and sessions in progress stop. Hints and pauses in force stay until they end or are undone.",
};

type Props = {
  mode: Mode;
  set: (mode: Mode, undo?: boolean) => Promise<{ mode: Mode; in_force: number; undone: number }>;
  done: string;
  label: string;
  disabled?: boolean;
  mayChange: boolean;
  /** For whom it is turned off: then that asks first. */
  askBeforeOff?: string;
};

const NAMES: Record<Mode, string> = { live: "Live", ask: "Ask", shadow: "Shadow", off: "Off" };
const MODES: Mode[] = ["live", "ask", "shadow", "off"];

export function ModeSwitch({ mode, set, done, label, disabled, mayChange, askBeforeOff }: Props) {
  const [isAsking, setAsking] = useState(false);
  const [left, setLeft] = useState<{ mode: Mode; count: number } | null>(null);
  const change = useAct((wanted: Mode) => set(wanted), {
    done,
    after: (said) => {
      setAsking(false);
      setLeft(said.mode !== "live" && said.in_force ? { mode: said.mode, count: said.in_force } : null);
    },
  });
  const undo = useAct(() => set(left?.mode ?? mode, true), {
    done: (said) => `Undone for ${said.undone}`,
    after: () => setLeft(null),
  });
  const choose = (wanted: Mode) => (wanted === "off" && askBeforeOff ? setAsking(true) : change.mutate(wanted));
  if (!mayChange) {
    return (
      <div>
        <Text fw={600} aria-label={label}>
          {NAMES[mode]}
        </Text>
        <Text size="xs" c="dimmed" mt={6}>
          {MEANING[mode]}
        </Text>
      </div>
    );
  }
  return (
    <div>
      <SegmentedControl
        value={mode}
        onChange={(value) => choose(value as Mode)}
        disabled={disabled || change.isPending}
        aria-label={label}
        fullWidth
        data={MODES.map((value) => ({ value, label: NAMES[value] }))}
        color={mode === "live" ? undefined : mode === "off" ? "red.9" : "orange.9"}
      />
      <Text size="xs" c="dimmed" mt={6}>
        {MEANING[mode]}
      </Text>
      <Confirm
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={`Turn the planner off for ${askBeforeOff ?? ""}?`}
        verb="Turn off"
        danger
        busy={change.isPending}
        onConfirm={() => change.mutate("off")}
      >
        {MEANING.off} A banner shows on every page until the planner is turned on again.
      </Confirm>
      <Confirm
        opened={left !== null}
        onClose={() => setLeft(null)}
        title="Undo what advice has in force?"
        verb="Undo"
        busy={undo.isPending}
        onConfirm={() => undo.mutate(undefined)}
      >
        {left?.count === 1
          ? "A hint or pause of a rule or the model is"
          : `Hints and pauses of rules and the model are`}{" "}
        still in force on {left?.count === 1 ? "1 endpoint" : `${left?.count ?? 0} endpoints`}. To undo them brings
        their own schedules back. What people set stays.
      </Confirm>
    </div>
  );
}
