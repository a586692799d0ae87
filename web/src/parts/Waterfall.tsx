/** Where the time of a call went, phase by phase. */
import { Group, Stack, Text } from "@mantine/core";
import type { Phases } from "../api/types";
import { took } from "../words/duration";

const NAMES = ["DNS lookup", "Connect", "TLS", "Time to first byte", "Receive"];
const INKS = ["#7048e8", "#1971c2", "#0c8599", "#2b8a3e", "#e8590c"];

/** Ends of phases since the start, in µs, become begin and length in ms; a phase that did not happen is left out. */
export function spans(phases: Phases): { name: string; ink: string; from: number; ms: number }[] {
  const total = phases.total_us ?? Math.max(phases.dns_us, phases.connect_us, phases.tls_us, phases.first_byte_us);
  const ends = [phases.dns_us, phases.connect_us, phases.tls_us, phases.first_byte_us, total];
  let before = 0;
  return ends.flatMap((end, place) => {
    if (!end || end <= before) return [];
    const found = { name: NAMES[place] ?? "", ink: INKS[place] ?? "", from: before / 1000, ms: (end - before) / 1000 };
    before = end;
    return [found];
  });
}

export function Waterfall({ phases }: { phases: Phases }) {
  const found = spans(phases);
  const total = Math.max(0.001, ...found.map((each) => each.from + each.ms));
  if (!found.length)
    return (
      <Text size="sm" c="dimmed">
        Not measured.
      </Text>
    );
  return (
    <Stack gap={6}>
      {found.map((each) => (
        <Group key={each.name} gap="sm" wrap="nowrap">
          <Text size="xs" w={150} style={{ flexShrink: 0 }}>
            {each.name}
          </Text>
          <div style={{ position: "relative", height: 14, flex: 1, background: "var(--grid)", borderRadius: 3 }}>
            <div
              style={{
                position: "absolute",
                left: `${(each.from / total) * 100}%`,
                width: `max(2px, ${(each.ms / total) * 100}%)`,
                height: 14,
                background: each.ink,
                borderRadius: 3,
              }}
            />
          </div>
          <Text size="xs" w={60} ta="right" className="tabular" style={{ flexShrink: 0 }}>
            {each.ms < 1 ? `${Math.round(each.ms * 1000)}µs` : took(each.ms)}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
