/** What a save would change, run by run, before it is made. */
import { Badge, Code, Group, Stack, Table, Text } from "@mantine/core";
import type { EndpointRehearsed } from "../../api/types";
import { inFull } from "../../time/format";
import { useTimeMode } from "../../time/When";
import { scheduleWords } from "../../words/schedule";

const NOT_TOLD = ["version", "updated_at", "created_at", "id", "next_run_at", "source", "schedule"];

export function SavePreview({ rehearsed, isNew }: { rehearsed: EndpointRehearsed; isNew: boolean }) {
  const changed = rehearsed.changed.filter((name) => !NOT_TOLD.includes(name));
  const after = rehearsed.preview.after;
  const before = rehearsed.preview.before;
  return (
    <Stack gap="sm">
      {rehearsed.after && (
        <Text size="sm">
          <b>{scheduleWords(rehearsed.after)}</b>
          {rehearsed.after.cron ? `, ${rehearsed.after.timezone}` : ""}
        </Text>
      )}
      {!isNew &&
        (changed.length ? (
          <Group gap={6}>
            <Text size="sm">Changes:</Text>
            {changed.map((name) => (
              <Badge key={name} color="gray" tt="none">
                {name.replace(/_ms$/, "").replaceAll("_", " ")}
              </Badge>
            ))}
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            No changes.
          </Text>
        ))}
      {!isNew && !rehearsed.next_run_at && changed.length > 0 && (
        <Text size="sm" c="dimmed">
          The next run does not change.
        </Text>
      )}
      <Table verticalSpacing={3} withRowBorders={false} className="flush">
        <Table.Thead>
          <Table.Tr>
            {!isNew && <Table.Th>Current schedule</Table.Th>}
            <Table.Th>{isNew ? "Next runs" : "After saving"}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Array.from({ length: Math.max(after.length, isNew ? 0 : before.length) }, (_, place) => (
            <Table.Tr key={place}>
              {!isNew && (
                <Table.Td>
                  <Instant at={before[place]?.next_run_at} />
                </Table.Td>
              )}
              <Table.Td fw={isNew || before[place]?.next_run_at === after[place]?.next_run_at ? 400 : 600}>
                <Instant at={after[place]?.next_run_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {rehearsed.templates && <Templates templates={rehearsed.templates} />}
    </Stack>
  );
}

/** The texts of the next run with their templates filled in, or why that fails. */
function Templates({ templates }: { templates: NonNullable<EndpointRehearsed["templates"]> }) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        Texts of the next run
      </Text>
      {templates.fault && (
        <Text size="sm" c="red">
          {templates.fault}
        </Text>
      )}
      {templates.texts.map(({ name, text }) => (
        <div key={name}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Code block>{text}</Code>
        </div>
      ))}
    </Stack>
  );
}

function Instant({ at }: { at: string | undefined }) {
  const { mode } = useTimeMode();
  return at ? (
    <time dateTime={at} className="tabular">
      {inFull(at, mode)}
    </time>
  ) : (
    <span className="quiet">–</span>
  );
}
