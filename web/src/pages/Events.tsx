/** What changed, in order, by whom. */
import { Button, Card, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { eventsQuery } from "../api/queries";
import { Feed, newestFirst } from "../parts/Feed";
import { Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { EVENT_TYPES } from "../words/event";

export function Events() {
  const filters = useSearch({ from: "/inside/events" });
  const navigate = useNavigate();
  const events = useQuery(eventsQuery(filters, 200));
  return (
    <Page title="Events" about="The last 200 events, newest first, updated live.">
      <Group gap="xs">
        <Select
          placeholder="Any type"
          aria-label="Filter by type"
          data={EVENT_TYPES}
          value={filters.type ?? null}
          searchable
          clearable
          w={220}
          onChange={(value) =>
            void navigate({ to: "/events", search: value ? { ...filters, type: value } : {}, replace: true })
          }
        />
        {filters.endpoint && (
          <Button variant="subtle" color="gray" onClick={() => void navigate({ to: "/events", search: {} })}>
            All endpoints
          </Button>
        )}
      </Group>
      {events.error && !events.data ? <Failed fault={events.error} retry={() => void events.refetch()} /> : null}
      {events.isPending ? <Pending /> : null}
      {events.data && (
        <Card>
          {events.data.items.length ? (
            <Feed events={newestFirst(events.data.items)} />
          ) : (
            <Text size="sm" c="dimmed">
              No matching events among the last 200.
            </Text>
          )}
        </Card>
      )}
    </Page>
  );
}
