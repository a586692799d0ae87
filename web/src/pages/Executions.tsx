/** Executions of workflows: which run, wait, failed, ended; those that wait for a person first, if one asks. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconRoute } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { useMay } from "../api/session";
import type { ExecutionFilters } from "../api/types";
import { executionsQuery, workflowsQuery } from "../api/workflows";
import { ButtonLink } from "../parts/links";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { Total } from "../parts/Total";
import { BulkCommands } from "./workflow/BulkCommands";
import { ExecutionTable } from "./workflow/ExecutionTable";

const STATUSES: { value: NonNullable<ExecutionFilters["status"]>; label: string }[] = [
  { value: "attention", label: "needs attention" },
  ...(["pending", "active", "waiting", "paused", "completed", "failed", "cancelled"] as const).map((value) => ({
    value,
    label: value,
  })),
];

export function Executions() {
  const filters = useSearch({ from: "/inside/executions" });
  const navigate = useNavigate({ from: "/executions" });
  const list = useInfiniteQuery(executionsQuery(filters));
  const workflows = useQuery(workflowsQuery);
  const mayRun = useMay("run");
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const { sort: _, ...matching } = filters;
  const isFiltered = Object.keys(matching).length > 0;
  const set = (change: ExecutionFilters) =>
    void navigate({
      to: "/executions",
      search: (before) => ({ ...before, ...change }),
      replace: true,
    });
  const correlate = useDebouncedCallback((value: string) => set({ correlation: value.trim() || undefined }), 250);
  return (
    <Page
      title="Executions"
      about="Each execution is one run of a workflow."
      actions={
        <>
          {mayRun && (filters.workflow || filters.correlation) && items.length > 0 && (
            <BulkCommands filters={matching} />
          )}
          <ButtonLink to="/workflows" variant="default">
            Workflows
          </ButtonLink>
        </>
      }
    >
      <Group gap="xs">
        <Select
          placeholder="Any workflow"
          aria-label="Filter by workflow"
          w={200}
          clearable
          searchable
          data={(workflows.data?.items ?? []).map((each) => each.name)}
          value={filters.workflow ?? null}
          onChange={(value) => set({ workflow: value ?? undefined })}
        />
        <Select
          placeholder="Any status"
          aria-label="Filter by status"
          w={170}
          clearable
          data={STATUSES}
          value={filters.status ?? null}
          onChange={(value) => set({ status: value ?? undefined })}
        />
        <TextInput
          data-filter
          placeholder="Correlation key"
          aria-label="Filter by correlation"
          w={180}
          key={filters.correlation ?? ""}
          defaultValue={filters.correlation ?? ""}
          onChange={(event) => correlate(event.currentTarget.value)}
        />
        {filters.step && (
          <Button variant="light" size="xs" onClick={() => set({ step: undefined })}>
            Step: {filters.step} ✕
          </Button>
        )}
      </Group>
      {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Pending /> : null}
      {list.data &&
        !items.length &&
        (isFiltered ? (
          <Empty
            icon={IconRoute}
            title={filters.status === "attention" ? "Nothing needs attention" : "No matches"}
            action={
              <Button variant="default" onClick={() => void navigate({ to: "/executions", search: {} })}>
                Clear filters
              </Button>
            }
          >
            No execution matches these filters.
          </Empty>
        ) : (
          <Empty
            icon={IconRoute}
            title="No executions yet"
            command="mainspring workflow start NAME"
            action={<ButtonLink to="/workflows">Go to workflows</ButtonLink>}
          >
            Start an execution from its workflow.
          </Empty>
        ))}
      {items.length > 0 && <Total total={list.data?.pages[0]?.total} one="execution" many="executions" />}
      {items.length > 0 && <ExecutionTable executions={items} more={more} isSorted={filters.status !== "attention"} />}
      {list.hasNextPage && (
        <Button variant="default" mx="auto" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Page>
  );
}
