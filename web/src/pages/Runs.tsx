/** What happened: every run, newest first, by endpoint, by how it ended, by why it began. */
import { Button, Group, Select } from "@mantine/core";
import { IconHistory, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { runsQuery } from "../api/queries";
import type { RunFilters } from "../api/types";
import { EndpointPicker } from "../parts/EndpointPicker";
import { ButtonLink } from "../parts/links";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunTable } from "../parts/RunTable";
import { Total } from "../parts/Total";
import { local, utc } from "../time/format";
import { useTimeMode } from "../time/When";
import { RUN_STATUSES } from "../words/state";

type Outcome = NonNullable<RunFilters["status"]>;
const OUTCOMES: { value: Outcome; label: string }[] = [
  { value: "failed", label: "any failure" },
  ...RUN_STATUSES.map((status) => ({ value: status, label: status })),
];
const TRIGGERS: NonNullable<RunFilters["trigger"]>[] = ["schedule", "manual", "test", "catch-up", "retry"];
const SPANS: Record<string, number> = {
  "last hour": 3_600_000,
  "last 24 hours": 86_400_000,
  "last 7 days": 604_800_000,
};
const LAST_NIGHT = "last night";

function spanOf(name: string | null): { since?: string; until?: string } {
  if (name === LAST_NIGHT) {
    const [evening, morning] = [new Date(), new Date()];
    evening.setDate(evening.getDate() - 1);
    evening.setHours(18, 0, 0, 0);
    morning.setHours(8, 0, 0, 0);
    return { since: evening.toISOString(), until: morning.toISOString() };
  }
  return name && SPANS[name] ? { since: new Date(Date.now() - SPANS[name]).toISOString() } : {};
}

export function Runs() {
  const filters = useSearch({ from: "/inside/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const list = useInfiniteQuery(runsQuery(filters));
  const runs = list.data?.pages.flatMap((page) => page.items) ?? [];
  const set = (change: RunFilters) =>
    void navigate({ to: "/runs", search: (before) => ({ ...before, ...change }), replace: true });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const isFiltered = Object.keys(filters).some((name) => name !== "sort");
  const { mode } = useTimeMode();
  const short = (at: string) =>
    Number.isNaN(Date.parse(at)) ? at : (mode === "utc" ? utc(at) : local(at)).slice(5, 16);
  const chosen = [filters.since && `from ${short(filters.since)}`, filters.until && `to ${short(filters.until)}`]
    .filter(Boolean)
    .join(" ");
  return (
    <Page title="Runs">
      <Group gap="xs">
        <EndpointPicker
          value={filters.endpoint ?? null}
          set={(id) => set({ endpoint: id ?? undefined })}
          data-filter
          clearable
          placeholder="Any endpoint"
          aria-label="Filter by endpoint"
          leftSection={<IconSearch size={16} />}
          style={{ flex: "none" }}
          w={{ base: "100%", xs: 260 }}
        />
        <Select
          placeholder="Any outcome"
          aria-label="Filter by outcome"
          data={OUTCOMES}
          value={filters.status ?? null}
          onChange={(value) => set({ status: value ?? undefined })}
          clearable
          w={200}
        />
        <Select
          placeholder="Any trigger"
          aria-label="Filter by trigger"
          data={TRIGGERS}
          value={filters.trigger ?? null}
          onChange={(value) => set({ trigger: value ?? undefined })}
          clearable
          w={140}
        />
        <Select
          placeholder="Any time"
          aria-label="Filter by time"
          data={[...(chosen ? [{ value: "chosen", label: chosen }] : []), LAST_NIGHT, ...Object.keys(SPANS)]}
          value={chosen ? "chosen" : null}
          clearable
          w={chosen ? 320 : 150}
          onChange={(value) => value !== "chosen" && set({ since: undefined, until: undefined, ...spanOf(value) })}
        />
        {isFiltered && (
          <Button variant="subtle" color="gray" onClick={() => void navigate({ to: "/runs", search: {} })}>
            Clear filters
          </Button>
        )}
      </Group>
      {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Pending /> : null}
      {list.data && !runs.length && (
        <Empty
          icon={IconHistory}
          title={isFiltered ? "No matches" : "No runs yet"}
          {...(isFiltered
            ? {}
            : {
                command: "mainspring endpoint run NAME",
                action: <ButtonLink to="/endpoints">Run an endpoint</ButtonLink>,
              })}
        >
          {isFiltered
            ? list.hasNextPage
              ? "No matches among the newest runs. Older runs may match."
              : "No run matches these filters."
            : "Runs appear here as they start."}
        </Empty>
      )}
      {runs.length > 0 && <Total total={list.data?.pages[0]?.total} one="run" many="runs" />}
      {runs.length > 0 && <RunTable runs={runs} more={more} isSorted />}
      {list.hasNextPage && (
        <Button variant="default" onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage} mx="auto">
          {runs.length ? "Show more" : "Search older runs"}
        </Button>
      )}
    </Page>
  );
}
