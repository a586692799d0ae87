/** Live, shadow or off: the planner's kill switch, the same everywhere. */
import { SegmentedControl, Text } from "@mantine/core";
import type { Mode } from "../api/planner";

const MEANING: Record<Mode, string> = {
  live: "Rules and the model act.",
  shadow: "What they would do is recorded, and nothing is changed.",
  off: "Nothing is judged and no model is asked. Hints in force stay until they end.",
};

type Props = { mode: Mode; set: (mode: Mode) => void; label: string; disabled?: boolean };

export function ModeSwitch({ mode, set, label, disabled }: Props) {
  return (
    <div>
      <SegmentedControl value={mode} onChange={(value) => set(value as Mode)} disabled={disabled} aria-label={label} fullWidth
        data={[{ value: "live", label: "Live" }, { value: "shadow", label: "Shadow" }, { value: "off", label: "Off" }]} color={mode === "live" ? undefined : mode === "shadow" ? "orange.9" : "red.9"} />
      <Text size="xs" c="dimmed" mt={6}>{MEANING[mode]}</Text>
    </div>
  );
}
