/** What failed in the last day: which endpoint, how often, what it said last, and whether it has recovered. */
import { Badge, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { endpointsQuery, runsQuery } from "../../api/queries";
import { AnchorLink } from "../../parts/links";
import { Failed } from "../../parts/Outcomes";
import { useClock } from "../../time/clock";
import { When } from "../../time/When";
import { byEndpoint } from "./failing";

const DAY_MS = 86_400_000;
const STEP_MS = 600_000; // the day's beginning moves by ten minutes, so that what was read can be kept
const LISTED = 6;

export function RecentFailures() {
  const since = new Date(useClock((nowMs) => Math.floor((nowMs - DAY_MS) / STEP_MS) * STEP_MS)).toISOString();
  const failed = useInfiniteQuery({
    ...runsQuery({ status: "failed", since }, 200),
    placeholderData: (before) => before,
  });
  const page = failed.data?.pages[0];
  const all = byEndpoint(page?.items ?? []);
  const shown = all.slice(0, LISTED);
  const failing = useInfiniteQuery({ ...endpointsQuery({ state: "failing" }, 200), enabled: shown.length > 0 });
  const known = failing.data?.pages[0];
  const failingIds = new Set(known?.items.map((each) => each.id));
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Title order={2}>Failures in the last 24 hours</Title>
        {shown.length > 0 && (
          <AnchorLink to="/runs" search={{ status: "failed", since }} size="sm">
            All failed runs
          </AnchorLink>
        )}
      </Group>
      {failed.error ? <Failed fault={failed.error} retry={() => void failed.refetch()} /> : null}
      {page && !shown.length && (
        <Text size="sm" c="dimmed">
          No failures.
        </Text>
      )}
      <Stack gap="sm">
        {shown.map((each) => {
          const isFailing = failingIds.has(each.id);
          return (
            <div key={each.id}>
              <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
                <Group gap="xs" style={{ minWidth: 0 }}>
                  <AnchorLink
                    to="/endpoints/$endpoint"
                    params={{ endpoint: each.id }}
                    size="sm"
                    fw={600}
                    className="breaks"
                  >
                    {each.name}
                  </AnchorLink>
                  {(isFailing || (known && !known.next_cursor)) && (
                    <Badge color={isFailing ? "red" : "green"} tt="none">
                      {isFailing ? "failing" : "recovered"}
                    </Badge>
                  )}
                </Group>
                <Text size="xs" c="dimmed" className="nowrap" component="span">
                  {each.count === 1 ? "once" : `${each.count}${page?.next_cursor ? " or more" : ""} times`}, last{" "}
                  <When at={each.last.started_at} />
                </Text>
              </Group>
              <Text size="sm" className="breaks" lineClamp={2}>
                {each.last.error || each.last.status}{" "}
                <AnchorLink to="/runs/$run" params={{ run: each.last.id }} size="sm" underline="always">
                  Why?
                </AnchorLink>
              </Text>
            </div>
          );
        })}
      </Stack>
      {all.length > LISTED && (
        <Text size="xs" c="dimmed" mt="sm">
          and {all.length - LISTED} more endpoints
        </Text>
      )}
    </Card>
  );
}
