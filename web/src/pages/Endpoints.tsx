/** Every endpoint: its state, when it runs in words, how its last runs went, when it runs next and why. */
import { Anchor, Button, Card, Checkbox, CloseButton, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconApi, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { endpointsQuery, jobsQuery, recentQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Endpoint } from "../api/types";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { RunBars } from "../parts/RunBars";
import { EndpointState } from "../parts/Status";
import { useRows } from "../shell/useRows";
import { When } from "../time/When";
import { took } from "../words/duration";
import { scheduleWords } from "../words/schedule";
import { sourceWords } from "../words/state";
import { Bulk } from "./endpoints/Bulk";

const STATES = ["active", "running", "failing", "adapting", "paused", "job-paused", "parked", "deferred", "archived"];

export function Endpoints() {
  const filters = useSearch({ from: "/inside/endpoints" });
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const list = useInfiniteQuery(endpointsQuery(filters));
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
        <Card><Empty
          icon={IconApi} title="No endpoints yet" command="mainspring endpoint add hello --url https://example.com/ --every 30s"
          action={mayWrite && <Button component={Link} to="/endpoints/new" leftSection={<IconPlus size={16} />}>Add the first endpoint</Button>}
        >
          An endpoint is one URL and when to call it.
        </Empty></Card>
      ))}
      {found.length > 0 && <List key={JSON.stringify(filters)} endpoints={found} filters={filters} hasMore={list.hasNextPage} />}
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
  const search = useDebouncedCallback((value: string) => set({ text: value.trim() || undefined }), 200);
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

type ListProps = { endpoints: Endpoint[]; filters: { text?: string; state?: string; job?: string }; hasMore: boolean };

function List({ endpoints, filters, hasMore }: ListProps) {
  const navigate = useNavigate();
  const mayRun = useMay("run");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setIsAll] = useState(false);
  const ids = endpoints.map((each) => each.id);
  const recent = useQuery(recentQuery(ids));
  const choose = (wanted: ReadonlySet<string>) => { setIsAll(false); setChosen(wanted); };
  const toggle = (id: string) => { setIsAll(false); setChosen((before) => { const after = new Set(before); if (!after.delete(id)) after.add(id); return after; }); };
  const open = (place: number) => { const id = ids[place]; if (id) void navigate({ to: "/endpoints/$endpoint", params: { endpoint: id } as never }); };
  const rows = useRows(endpoints.length, open, (place) => ids[place] && toggle(ids[place]));
  const selected = endpoints.filter((each) => chosen.has(each.id));
  return (
    <Stack gap="xs">
      {selected.length > 0 && (
        <Bulk
          chosen={isAll ? { matching: filters } : { ids: selected.map((each) => each.id) }} count={selected.length}
          offerAll={hasMore && !isAll && selected.length === ids.length} takeAll={() => setIsAll(true)} clear={() => choose(new Set())}
        />
      )}
      <Card padding={0}>
        <Table className="stacks" highlightOnHover verticalSpacing={8}>
          <Table.Thead>
            <Table.Tr>
              {mayRun && <Table.Th w={36}><Checkbox size="xs" aria-label="Select all shown" checked={selected.length === ids.length} indeterminate={selected.length > 0 && selected.length < ids.length} onChange={(event) => choose(new Set(event.currentTarget.checked ? ids : []))} /></Table.Th>}
              <Table.Th>Endpoint</Table.Th><Table.Th>State</Table.Th><Table.Th>Schedule</Table.Th><Table.Th w={172}>Last runs</Table.Th><Table.Th ta={{ sm: "right" }}>p95</Table.Th><Table.Th>Next run</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {endpoints.map((each, place) => (
              <Table.Tr key={each.id} {...rows.rowProps(place)} className="row-link" onClick={(event) => { if (!(event.target as HTMLElement).closest("a, input, label")) open(place); }}>
                {mayRun && <Table.Td className="wide-only"><Checkbox size="xs" aria-label={`Select ${each.name}`} checked={chosen.has(each.id)} onChange={() => toggle(each.id)} /></Table.Td>}
                <Table.Td className="stack-title" maw={320}>
                  <div style={{ minWidth: 0 }}>
                    <Anchor component={Link} to="/endpoints/$endpoint" params={{ endpoint: each.id } as never} fw={600} size="sm" className="breaks">{each.name}</Anchor>
                    <Text size="xs" c="dimmed" className="clip" maw={300}>{each.job} · {each.method} {each.url}</Text>
                  </div>
                </Table.Td>
                <Table.Td data-label="State"><EndpointState endpoint={each} /></Table.Td>
                <Table.Td data-label="Schedule" maw={{ sm: 220 }}><Text size="sm">{scheduleWords(each)}</Text></Table.Td>
                <Table.Td data-label="Last runs"><RunBars runs={recent.data?.get(each.id)?.runs ?? []} /></Table.Td>
                <Table.Td data-label="p95" className="nowrap tabular" ta={{ sm: "right" }}>{took(recent.data?.get(each.id)?.p95_ms)}</Table.Td>
                <Table.Td data-label="Next run">
                  <div>
                    <Text size="sm" component="div"><When at={each.status === "active" ? each.next_run_at : null} none="not planned" /></Text>
                    {each.status === "active" && <Text size="xs" c="dimmed">{sourceWords(each.source)}</Text>}
                  </div>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Card>
    </Stack>
  );
}
