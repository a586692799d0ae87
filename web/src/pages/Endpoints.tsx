/** Every endpoint: its state, when it runs in words, how its last runs went, when it runs next and why. */
import { Button, Card, CloseButton, Group, Select, Stack, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconApi, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import {
  createContext,
  memo,
  type RefObject,
  useCallback,
  useContext,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { endpointsQuery, jobsQuery, type Recent, recentQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Endpoint, EndpointFilters } from "../api/types";
import { ButtonLink } from "../parts/links";
import { NextRun, nextRunOf } from "../parts/NextRun";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { endpointPath, PlainLink } from "../parts/PlainLink";
import { RunBars } from "../parts/RunBars";
import { Spacer } from "../parts/Spacer";
import { EndpointState } from "../parts/Status";
import { SortedBy, Total } from "../parts/Total";
import { type Seen, useWindow } from "../parts/useWindow";
import { useRows } from "../shell/useRows";
import { serverNow } from "../time/clock";
import { took } from "../words/duration";
import { clockChange, scheduleWords } from "../words/schedule";
import { sourceWords } from "../words/state";
import { Bulk } from "./endpoints/Bulk";

const BLOCK = 50; // endpoints of which the last runs are read at once
const STATES: NonNullable<EndpointFilters["state"]>[] = [
  "active",
  "running",
  "failing",
  "adapting",
  "paused",
  "job-paused",
  "parked",
  "deferred",
  "done",
  "archived",
];

export function Endpoints() {
  const filters = useSearch({ from: "/inside/endpoints" });
  const navigate = useNavigate({ from: "/endpoints" });
  const mayWrite = useMay("write");
  // The old list stays until the new one is there.
  const list = useInfiniteQuery({ ...endpointsQuery(filters), placeholderData: (before) => before });
  const found = list.data?.pages.flatMap((page) => page.items) ?? [];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const { sort: _, ...matching } = filters;
  const isFiltered = Object.keys(matching).length > 0;
  const set = (change: EndpointFilters) =>
    void navigate({
      to: "/endpoints",
      search: (before) => ({ ...before, ...change }),
      replace: true,
    });
  return (
    <Page
      title="Endpoints"
      actions={
        mayWrite && (
          <ButtonLink to="/endpoints/new" leftSection={<IconPlus size={16} />}>
            New endpoint
          </ButtonLink>
        )
      }
    >
      <Filters filters={filters} set={set} />
      {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Pending /> : null}
      {list.data &&
        !found.length &&
        (isFiltered ? (
          <Empty
            icon={IconSearch}
            title="No matches"
            action={
              <Button variant="default" onClick={() => void navigate({ to: "/endpoints", search: {} })}>
                Clear filters
              </Button>
            }
          >
            No endpoint matches these filters.
          </Empty>
        ) : (
          <Empty
            icon={IconApi}
            title="No endpoints yet"
            command="mainspring endpoint add hello --url https://example.com/ --every 30s"
            action={
              mayWrite && (
                <ButtonLink to="/endpoints/new" leftSection={<IconPlus size={16} />}>
                  Create your first endpoint
                </ButtonLink>
              )
            }
          >
            An endpoint is a call, for example of a URL, and its schedule.
          </Empty>
        ))}
      {found.length > 0 && <Total total={list.data?.pages[0]?.total} one="endpoint" many="endpoints" />}
      {found.length > 0 && (
        <List
          endpoints={found}
          filters={matching}
          hasMore={list.hasNextPage}
          isOld={list.isPlaceholderData}
          more={more}
        />
      )}
      {list.hasNextPage && (
        <Button variant="default" onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage} mx="auto">
          Show more
        </Button>
      )}
    </Page>
  );
}

type FilterProps = {
  filters: Omit<EndpointFilters, "sort">;
  set: (change: EndpointFilters) => void;
};

function Filters({ filters, set }: FilterProps) {
  const [text, setText] = useState(filters.text ?? "");
  const jobs = useQuery(jobsQuery);
  const search = useDebouncedCallback((value: string) => set({ text: value.trim() || undefined }), 120);
  useEffect(() => setText(filters.text ?? ""), [filters.text]);
  return (
    <Group gap="xs">
      <TextInput
        data-filter
        placeholder="Name, description or URL"
        aria-label="Filter by text"
        leftSection={<IconSearch size={16} />}
        value={text}
        w={{ base: "100%", xs: 280 }}
        onChange={(event) => {
          setText(event.currentTarget.value);
          search(event.currentTarget.value);
        }}
        rightSection={
          text && (
            <CloseButton
              size="sm"
              aria-label="Clear text"
              onClick={() => {
                setText("");
                set({ text: undefined });
              }}
            />
          )
        }
      />
      <Select
        placeholder="Any state"
        aria-label="Filter by state"
        data={STATES}
        value={filters.state ?? null}
        onChange={(value) => set({ state: value ?? undefined })}
        clearable
        w={140}
      />
      <Select
        placeholder="Any job"
        aria-label="Filter by job"
        data={(jobs.data?.items ?? []).map((job) => job.name)}
        value={filters.job ?? null}
        onChange={(value) => set({ job: value ?? undefined })}
        clearable
        searchable
        w={160}
      />
    </Group>
  );
}

type ListProps = {
  endpoints: Endpoint[];
  filters: Omit<EndpointFilters, "sort">;
  hasMore: boolean;
  isOld: boolean;
  more: () => void;
};

function List({ endpoints: all, filters, hasMore, isOld, more }: ListProps) {
  const navigate = useNavigate();
  const mayRun = useMay("run");
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useWindow(all.length, body, more);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [allOf, setAllOf] = useState<string | null>(null); // the filter of which all are chosen
  const isAll = allOf === JSON.stringify(filters);
  // All of the list, drawn yet or not: a slow machine draws the rest late.
  const ids = useMemo(() => all.map((each) => each.id), [all]);
  const recent = useRecent(ids, seen.from, seen.to);
  const choose = (wanted: ReadonlySet<string>) => {
    setAllOf(null);
    setChosen(wanted);
  };
  const toggle = useCallback((id: string) => {
    setAllOf(null);
    setChosen((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }, []);
  const show = useCallback(
    (id: string) => void navigate({ to: "/endpoints/$endpoint", params: { endpoint: id } }),
    [navigate],
  );
  const withRow = (act: (id: string) => void) => (place: number) => {
    const row = all[place];
    if (row) act(row.id);
  };
  const rows = useRows(all.length, withRow(show), withRow(toggle), seen.reveal);
  const selected = ids.filter((id) => chosen.has(id));
  const runs = useDeferredValue(recent);
  return (
    <Stack gap="xs">
      <Card padding={0} className={isOld ? "old" : undefined} aria-busy={isOld || undefined}>
        <table className="list stacks compact">
          <thead>
            <tr>
              {mayRun && (
                <th className="tick-cell">
                  <input
                    type="checkbox"
                    className="tick"
                    aria-label="Select all shown"
                    checked={selected.length === ids.length}
                    ref={(box) => {
                      if (box) box.indeterminate = selected.length > 0 && selected.length < ids.length;
                    }}
                    onChange={(event) => choose(new Set(event.currentTarget.checked ? ids : []))}
                  />
                </th>
              )}
              <SortedBy by="name" first="name">
                Endpoint
              </SortedBy>
              <th>State</th>
              <th>Schedule</th>
              <th className="roomy">Last runs</th>
              <th className="figure roomy">p95</th>
              <SortedBy by="next_run_at" first="name">
                Next run
              </SortedBy>
            </tr>
          </thead>
          <Chosen value={chosen}>
            <Rows
              endpoints={all}
              seen={seen}
              body={body}
              recent={runs}
              at={rows.at}
              mayRun={mayRun}
              toggle={toggle}
              show={show}
            />
          </Chosen>
        </table>
      </Card>
      {selected.length > 0 && (
        <Bulk
          chosen={isAll ? { matching: filters } : { ids: selected }}
          count={selected.length}
          offerAll={hasMore && !isAll && !isOld && selected.length === ids.length}
          takeAll={() => setAllOf(JSON.stringify(filters))}
          clear={() => choose(new Set())}
        />
      )}
    </Stack>
  );
}

/**
 * The last runs of the endpoints in sight, read in blocks, so that scrolling through thousands reads only what is
 * passed.
 */
function useRecent(ids: string[], from: number, to: number): Record<string, Recent> | undefined {
  const blocks = [];
  for (let start = Math.floor(from / BLOCK) * BLOCK; start < to; start += BLOCK)
    blocks.push(ids.slice(start, start + BLOCK));
  return useQueries({
    queries: blocks.map((block) => recentQuery(block)),
    combine: joinRecent,
  });
}

const joinRecent = (found: { data: Record<string, Recent> | undefined }[]): Record<string, Recent> | undefined =>
  found.some((each) => each.data)
    ? (Object.assign({}, ...found.map((each) => each.data ?? {})) as Record<string, Recent>)
    : undefined;

const Chosen = createContext<ReadonlySet<string>>(new Set());

/** Knows by itself whether it is ticked: to select a hundred draws a hundred boxes, not a hundred rows. */
function Tick({ endpoint, toggle }: { endpoint: Endpoint; toggle: (id: string) => void }) {
  const isChosen = useContext(Chosen).has(endpoint.id);
  return (
    <input
      type="checkbox"
      className="tick"
      aria-label={`Select ${endpoint.name}`}
      checked={isChosen}
      onChange={() => toggle(endpoint.id)}
    />
  );
}

type RowsProps = {
  endpoints: Endpoint[];
  seen: Seen;
  body: RefObject<HTMLTableSectionElement | null>;
  recent: Record<string, Recent> | undefined;
  at: number;
  mayRun: boolean;
  toggle: (id: string) => void;
  show: (id: string) => void;
};

const Rows = memo(function Rows({ endpoints, seen, body, recent, at, mayRun, toggle, show }: RowsProps) {
  return (
    <tbody ref={body}>
      <Spacer px={seen.above} />
      {endpoints.slice(seen.from, seen.to).map((each, index) => (
        <Row
          key={each.id}
          endpoint={each}
          recent={recent?.[each.id]}
          place={seen.from + index}
          isAt={at === seen.from + index}
          mayRun={mayRun}
          toggle={toggle}
          show={show}
        />
      ))}
      <Spacer px={seen.below} />
    </tbody>
  );
});

type RowProps = {
  endpoint: Endpoint;
  recent: Recent | undefined;
  place: number;
  isAt: boolean;
  mayRun: boolean;
  toggle: (id: string) => void;
  show: (id: string) => void;
};

/**
 * Drawn again only when something in it changed: a list is read again whenever anything happens. Plain elements, for
 * it holds hundreds.
 */
const Row = memo(function Row({ endpoint, recent, place, isAt, mayRun, toggle, show }: RowProps) {
  return (
    <tr
      data-row={place}
      data-chosen={isAt || undefined}
      className="row-link"
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, input, label")) show(endpoint.id);
      }}
    >
      {mayRun && (
        <td className="tick-cell wide-only">
          <Tick endpoint={endpoint} toggle={toggle} />
        </td>
      )}
      <td className="stack-title name-cell">
        <div>
          <PlainLink to={endpointPath(endpoint.id)} strong className="breaks">
            {endpoint.name}
          </PlainLink>
          <div className="clip small">
            {endpoint.job} · {endpoint.target}
          </div>
        </div>
      </td>
      <td data-label="State">
        <EndpointState endpoint={endpoint} />
      </td>
      <td data-label="Schedule" className="words-cell">
        <Schedule endpoint={endpoint} />
      </td>
      <td data-label="Last runs" className="roomy">
        <RunBars runs={recent?.runs ?? NONE} />
      </td>
      <td data-label="p95" className="figure roomy">
        {took(recent?.p95_ms)}
      </td>
      <td data-label="Next run">
        <div>
          <div>
            <NextRun endpoint={endpoint} />
          </div>
          {nextRunOf(endpoint) && <div className="small">{sourceWords(endpoint.source)}</div>}
        </div>
      </td>
    </tr>
  );
});

function Schedule({ endpoint }: { endpoint: Endpoint }) {
  const change = clockChange(endpoint, serverNow());
  return (
    <div>
      {scheduleWords(endpoint)}
      {change && (
        <div
          className="small change"
          title={`Daylight saving time changes in ${endpoint.timezone}. A fixed time of day still runs once; other expressions follow local time.`}
        >
          {change}
        </div>
      )}
    </div>
  );
}

const NONE: Recent["runs"] = [];
