/** What failed in the last day: which endpoint, how often, what it said last, and whether it is well again. */
import { Anchor, Badge, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { recentQuery, runsQuery } from "../../api/queries";
import { Failed } from "../../parts/Outcomes";
import { useClock } from "../../time/clock";
import { When } from "../../time/When";
import { byEndpoint } from "./failing";

const DAY_MS = 86_400_000;
const STEP_MS = 600_000; // the day's beginning moves by ten minutes, so that what was read can be kept
const LISTED = 6;

export function Failures() {
  const since = new Date(useClock((nowMs) => Math.floor((nowMs - DAY_MS) / STEP_MS) * STEP_MS)).toISOString();
  const failed = useInfiniteQuery({ ...runsQuery({ status: "failed", since }, 200), placeholderData: (before) => before });
  const page = failed.data?.pages[0];
  const all = byEndpoint(page?.items ?? []);
  const shown = all.slice(0, LISTED);
  const recent = useQuery({ ...recentQuery(shown.map((each) => each.id)), enabled: shown.length > 0 });
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Title order={2}>Failed in the last 24 hours</Title>
        {shown.length > 0 && <Anchor component={Link} to="/runs" search={{ status: "failed", since } as never} size="sm">All failed runs</Anchor>}
      </Group>
      {failed.error ? <Failed fault={failed.error} retry={() => void failed.refetch()} /> : null}
      {page && !shown.length && <Text size="sm" c="dimmed">Nothing failed.</Text>}
      <Stack gap="sm">
        {shown.map((each) => {
          const isWell = recent.data?.[each.id]?.runs[0]?.status === "success";
          return (
            <div key={each.id}>
              <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
                <Group gap="xs" style={{ minWidth: 0 }}>
                  <Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: each.id } as never} size="sm" fw={600} className="breaks">{each.name}</Anchor>
                  {recent.data && <Badge color={isWell ? "green" : "red"} tt="none">{isWell ? "well again" : "failing"}</Badge>}
                </Group>
                <Text size="xs" c="dimmed" className="nowrap" component="span">{each.count === 1 ? "once" : `${each.count}${page?.next_cursor ? " or more" : ""} times`}, last <When at={each.last.started_at} /></Text>
              </Group>
              <Text size="sm" className="breaks" lineClamp={2}>{each.last.error || each.last.status} <Anchor component={Link} to="/runs/$run" params={{ run: each.last.id } as never} size="sm" underline="always">Why?</Anchor></Text>
            </div>
          );
        })}
      </Stack>
      {all.length > LISTED && <Text size="xs" c="dimmed" mt="sm">and {all.length - LISTED} more endpoints</Text>}
    </Card>
  );
}
