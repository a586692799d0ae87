/** A decision as a picture: every candidate on one line of time, who won, who lost, who moved it, and why. */
import { Badge, Box, Group, Stack, Text } from "@mantine/core";
import type { Step } from "../api/types";
import { isForever } from "../time/format";
import { When } from "../time/When";
import { INK, sourceWords, type Tone } from "../words/state";

const VERDICTS: Record<string, [Tone, string]> = {
  won: ["good", "won"],
  lost: ["idle", "lost"],
  ignored: ["idle", "ignored"],
  moved: ["warn", "moved it"],
};

export function Trail({ steps, fromMs }: { steps: Step[]; fromMs: number }) {
  if (!steps.length)
    return (
      <Text c="dimmed" size="sm">
        No decision has been made yet.
      </Text>
    );
  const times = steps.flatMap((step) => (step.at && !isForever(step.at) ? [Date.parse(step.at)] : []));
  const first = Math.min(fromMs, ...times);
  const last = Math.max(first + 1000, ...times);
  const share = (at: string) => ((Math.min(Date.parse(at), last) - first) / (last - first)) * 100;
  return (
    <Stack gap={10} component="ol" style={{ listStyle: "none", margin: 0, padding: 0 }} aria-label="Decision steps">
      {steps.map((step, place) => {
        const [tone, word] = VERDICTS[step.verdict] ?? ["calm", step.verdict];
        return (
          <li key={place}>
            <Group justify="space-between" gap="xs">
              <Group gap="xs">
                <Badge color={tone === "good" ? "green" : tone === "warn" ? "orange" : "gray"} tt="none">
                  {word}
                </Badge>
                <Text size="sm" fw={600}>
                  {sourceWords(step.rule)}
                </Text>
              </Group>
              <Text size="sm" component="span">
                <When at={step.at} none="no time" />
              </Text>
            </Group>
            {step.at && (
              <Box pos="relative" h={14} my={2} aria-hidden="true">
                <Box pos="absolute" top={6} left={0} right={0} h={2} bg="var(--grid)" style={{ borderRadius: 1 }} />
                <Box
                  pos="absolute"
                  top={6}
                  left={0}
                  h={2}
                  w={`${share(step.at)}%`}
                  bg={INK[tone]}
                  style={{ borderRadius: 1 }}
                />
                <Box
                  pos="absolute"
                  top={2}
                  left={`calc(${share(step.at)}% - 5px)`}
                  w={10}
                  h={10}
                  bg={INK[tone]}
                  style={{ borderRadius: 5 }}
                />
              </Box>
            )}
            <Text size="xs" c="dimmed" className="breaks">
              {step.why}
            </Text>
          </li>
        );
      })}
    </Stack>
  );
}
