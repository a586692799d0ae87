/** Every endpoint: its state, when it runs in words, how its last runs went, when it runs next and why. */
import { Button, Card, CloseButton, Group, Select, Stack, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconApi, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { createContext, memo, useCallback, useContext, useDeferredValue, useEffect, useMemo, useState } from "react";
import { endpointsQuery, jobsQuery, type Recent, recentQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Endpoint } from "../api/types";
import { endpointPath, Go } from "../parts/Go";
import { NextRun, nextRunOf } from "../parts/NextRun";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunBars } from "../parts/RunBars";
import { EndpointState } from "../parts/Status";
import { useRows } from "../shell/useRows";
import { took } from "../words/duration";
import { scheduleWords } from "../words/schedule";
import { sourceWords } from "../words/state";
import { Bulk } from "./endpoints/Bulk";

const FIRST = 15; // drawn at once; the rest follows without holding up a key or a click
const STATES = ["active", "running", "failing", "adapting", "paused", "job-paused", "parked", "deferred", "archived"];

export function Endpoints() {
  const filters = useSearch({ from: "/inside/endpoints" });
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const list = useInfiniteQuery({ ...endpointsQuery(filters), placeholderData: (before) => before }); // the old list stays until the new one is there
  const found = list.data?.pages.flatMap((page) => page.items) ?? [];
  const isFiltered = Object.keys(filters).length > 0;
  const set = (change: Record<string, string | undefined>) =>
    void navigate({ to: "/endpoints", search: ((before: object) => ({ ...before, ...change })) as never, replace: true });
  return (
    <Page
      title="Endpoints"
      actions={mayWrite && <Button component={Link} to="/endpoints/new" leftSection={<IconPlus size={16} />}>New endpoint</Button>}
    >
      <Filters filters={filters} set={set} />
      {list.error && !list.data ? <Failed fault={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Pending /> : null}
      {list.data && !found.length && (isFiltered ? (
        <Empty icon={IconSearch} title="None matches" action={<Button variant="default" onClick={() => void navigate({ to: "/endpoints", search: {} })}>Show all</Button>}>
          No endpoint has these words and this state.
        </Empty>
      ) : (
        <Empty
          icon={IconApi} title="No endpoints yet" command="mainspring endpoint add hello --url https://example.com/ --every 30s"
          action={mayWrite && <Button component={Link} to="/endpoints/new" leftSection={<IconPlus size={16} />}>Add the first endpoint</Button>}
        >
          An endpoint is one URL and when to call it.
        </Empty>
      ))}
      {found.length > 0 && <List endpoints={found} filters={filters} hasMore={list.hasNextPage} isOld={list.isPlaceholderData} />}
      {list.hasNextPage && (
        <Button variant="default" onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage} mx="auto">Show more</Button>
      )}
    </Page>
  );
}

type FilterProps = { filters: { text?: string; state?: string; job?: string }; set: (change: Record<string, string | undefined>) => void };

function Filters({ filters, set }: FilterProps) {
  const [text, setText] = useState(filters.text ?? "");
  const jobs = useQuery(jobsQuery);
  const search = useDebouncedCallback((value: string) => set({ text: value.trim() || undefined }), 120);
  useEffect(() => setText(filters.text ?? ""), [filters.text]);
  return (
    <Group gap="xs">
      <TextInput
        data-filter placeholder="Name, description or URL" aria-label="Filter by text" leftSection={<IconSearch size={16} />} value={text} w={{ base: "100%", xs: 280 }}
        onChange={(event) => { setText(event.currentTarget.value); search(event.currentTarget.value); }}
        rightSection={text && <CloseButton size="sm" aria-label="Clear the text" onClick={() => { setText(""); set({ text: undefined }); }} />}
      />
      <Select placeholder="Any state" aria-label="Filter by state" data={STATES} value={filters.state ?? null} onChange={(value) => set({ state: value ?? undefined })} clearable w={140} />
      <Select placeholder="Any job" aria-label="Filter by job" data={(jobs.data?.items ?? []).map((job) => job.name)} value={filters.job ?? null} onChange={(value) => set({ job: value ?? undefined })} clearable searchable w={160} />
    </Group>
  );
}

type ListProps = { endpoints: Endpoint[]; filters: { text?: string; state?: string; job?: string }; hasMore: boolean; isOld: boolean };

function List({ endpoints: all, filters, hasMore, isOld }: ListProps) {
  const navigate = useNavigate();
  const mayRun = useMay("run");
  const endpoints = useDeferredValue(all, all.slice(0, FIRST));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [allOf, setAllOf] = useState<string | null>(null); // the filter of which all are chosen
  const isAll = allOf === JSON.stringify(filters);
  const ids = useMemo(() => all.map((each) => each.id), [all]); // all of the list, drawn yet or not: a slow machine draws the rest late
  const recent = useQuery(recentQuery(ids));
  const choose = (wanted: ReadonlySet<string>) => { setAllOf(null); setChosen(wanted); };
  const toggle = useCallback((id: string) => { setAllOf(null); setChosen((before) => { const after = new Set(before); if (!after.delete(id)) after.add(id); return after; }); }, []);
  const show = useCallback((id: string) => void navigate({ to: "/endpoints/$endpoint", params: { endpoint: id } as never }), [navigate]);
  const withRow = (act: (id: string) => void) => (place: number) => { const row = endpoints[place]; if (row) act(row.id); };
  const rows = useRows(endpoints.length, withRow(show), withRow(toggle));
  const selected = ids.filter((id) => chosen.has(id));
  const runs = useDeferredValue(recent.data);
  return (
    <Stack gap="xs">
      <Card padding={0} className={isOld ? "old" : undefined} aria-busy={isOld || undefined}>
        <table className="list stacks compact">
          <thead>
            <tr>
              {mayRun && <th className="tick-cell"><input type="checkbox" className="tick" aria-label="Select all shown" checked={selected.length === ids.length} ref={(box) => { if (box) box.indeterminate = selected.length > 0 && selected.length < ids.length; }} onChange={(event) => choose(new Set(event.currentTarget.checked ? ids : []))} /></th>}
              <th>Endpoint</th><th>State</th><th>Schedule</th><th>Last runs</th><th className="figure">p95</th><th>Next run</th>
            </tr>
          </thead>
          <Chosen value={chosen}><Rows endpoints={endpoints} recent={runs} at={rows.at} mayRun={mayRun} toggle={toggle} show={show} /></Chosen>
        </table>
      </Card>
      {selected.length > 0 && (
        <Bulk
          chosen={isAll ? { matching: filters } : { ids: selected }} count={selected.length}
          offerAll={hasMore && !isAll && !isOld && selected.length === ids.length} takeAll={() => setAllOf(JSON.stringify(filters))} clear={() => choose(new Set())}
        />
      )}
    </Stack>
  );
}

const Chosen = createContext<ReadonlySet<string>>(new Set());

/** Knows by itself whether it is ticked: to select a hundred draws a hundred boxes, not a hundred rows. */
function Tick({ endpoint, toggle }: { endpoint: Endpoint; toggle: (id: string) => void }) {
  const isChosen = useContext(Chosen).has(endpoint.id);
  return <input type="checkbox" className="tick" aria-label={`Select ${endpoint.name}`} checked={isChosen} onChange={() => toggle(endpoint.id)} />;
}

type RowsProps = { endpoints: Endpoint[]; recent: Record<string, Recent> | undefined; at: number; mayRun: boolean; toggle: (id: string) => void; show: (id: string) => void };

const Rows = memo(function Rows({ endpoints, recent, at, mayRun, toggle, show }: RowsProps) {
  return (
    <tbody>
      {endpoints.map((each, place) => (
        <Row key={each.id} endpoint={each} recent={recent?.[each.id]} place={place} isAt={at === place} mayRun={mayRun} toggle={toggle} show={show} />
      ))}
    </tbody>
  );
});

type RowProps = { endpoint: Endpoint; recent: Recent | undefined; place: number; isAt: boolean; mayRun: boolean; toggle: (id: string) => void; show: (id: string) => void };

/** Drawn again only when something in it changed: a list is read again whenever anything happens. Plain elements, for it holds hundreds. */
const Row = memo(function Row({ endpoint, recent, place, isAt, mayRun, toggle, show }: RowProps) {
  return (
    <tr data-row={place} data-chosen={isAt || undefined} className="row-link" onClick={(event) => { if (!(event.target as HTMLElement).closest("a, input, label")) show(endpoint.id); }}>
      {mayRun && <td className="tick-cell wide-only"><Tick endpoint={endpoint} toggle={toggle} /></td>}
      <td className="stack-title name-cell">
        <div>
          <Go to={endpointPath(endpoint.id)} strong className="breaks">{endpoint.name}</Go>
          <div className="clip small">{endpoint.job} · {endpoint.method} {endpoint.url}</div>
        </div>
      </td>
      <td data-label="State"><EndpointState endpoint={endpoint} /></td>
      <td data-label="Schedule" className="words-cell">{scheduleWords(endpoint)}</td>
      <td data-label="Last runs"><RunBars runs={recent?.runs ?? NONE} /></td>
      <td data-label="p95" className="figure">{took(recent?.p95_ms)}</td>
      <td data-label="Next run">
        <div>
          <div><NextRun endpoint={endpoint} /></div>
          {nextRunOf(endpoint) && <div className="small">{sourceWords(endpoint.source)}</div>}
        </div>
      </td>
    </tr>
  );
});

const NONE: Recent["runs"] = [];
