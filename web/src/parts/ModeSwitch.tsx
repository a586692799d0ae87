/**
 * Live, ask, shadow or off: the planner's kill switch, the same everywhere. Whoever stops it is offered to undo its
 * advice.
 */
import { SegmentedControl, Text } from "@mantine/core";
import { useState } from "react";
import type { Mode } from "../api/planner";
import { Confirm } from "./Confirm";
import { useAction } from "./useAction";

const MEANING: Record<Mode, string> = {
  live: "Rules and the model change schedules.",
  ask: "Changes are proposed and need approval.",
  shadow: "Changes are recorded but not applied.",
  off: "Rules are not evaluated, the model is not called, and running sessions stop. Active hints and pauses stay until they expire or are undone.",
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
  const change = useAction((wanted: Mode) => set(wanted), {
    done,
    after: (said) => {
      setAsking(false);
      setLeft(said.mode !== "live" && said.in_force ? { mode: said.mode, count: said.in_force } : null);
    },
  });
  const undo = useAction(() => set(left?.mode ?? mode, true), {
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
        title="Undo planner changes?"
        verb="Undo"
        busy={undo.isPending}
        onConfirm={() => undo.mutate(undefined)}
      >
        {left?.count === 1
          ? "A hint or pause set by a rule or the model is"
          : "Hints and pauses set by rules or the model are"}{" "}
        still active on {left?.count === 1 ? "1 endpoint" : `${left?.count ?? 0} endpoints`}. Undo them to restore the
        original schedules. Hints and pauses set by users stay.
      </Confirm>
    </div>
  );
}
