/** Calendars: days on which endpoints run, or do not. */
import { Button, Card, Chip, Group, Input, Stack, Table, Text, Textarea, TextInput } from "@mantine/core";
import { IconCalendarOff, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Calendar, calendarActs, calendarQuery, calendarsQuery } from "../../api/calendars";
import { asProblem } from "../../api/client";
import { useMay } from "../../api/session";
import { Confirm } from "../../parts/Confirm";
import { Dialog } from "../../parts/Dialog";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";

type Weekday = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";
type Asked = { what: "edit" | "delete"; calendar: Calendar } | { what: "new" } | null;
const WEEKDAYS: [Weekday, string][] = [
  ["mon", "Monday"],
  ["tue", "Tuesday"],
  ["wed", "Wednesday"],
  ["thu", "Thursday"],
  ["fri", "Friday"],
  ["sat", "Saturday"],
  ["sun", "Sunday"],
];

export function Calendars() {
  const calendars = useQuery(calendarsQuery);
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  const remove = useAction((id: string) => calendarActs.remove(id), { done: "Calendar deleted", after: close });
  if (calendars.error && !calendars.data)
    return <Failed fault={calendars.error} retry={() => void calendars.refetch()} />;
  if (!calendars.data) return <Pending />;
  const add = mayWrite && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAsked({ what: "new" })}>
      New calendar
    </Button>
  );
  return (
    <Stack>
      {calendars.data.items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            An endpoint names the calendars on whose days it does not run, or runs only.
          </Text>
          {add}
        </Group>
      )}
      {!calendars.data.items.length ? (
        <Empty
          icon={IconCalendarOff}
          title="No calendars yet"
          action={add}
          command="mainspring calendar add holidays --holidays DE"
        >
          A calendar is a set of days, such as public holidays. Endpoints do not run on its days, or run only then.
        </Empty>
      ) : (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Calendar</Table.Th>
                <Table.Th>Next days</Table.Th>
                <Table.Th>Used by</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {calendars.data.items.map((calendar) => (
                <Row key={calendar.id} calendar={calendar} ask={(what) => setAsked({ what, calendar })} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {asked?.what === "new" && <CalendarForm ics="" close={close} />}
      {asked?.what === "edit" && <EditForm calendar={asked.calendar} close={close} />}
      {asked?.what === "delete" && (
        <Confirm
          opened
          onClose={close}
          title={`Delete ${asked.calendar.name}?`}
          verb="Delete"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate(asked.calendar.id)}
        >
          A calendar that endpoints use cannot be deleted.
        </Confirm>
      )}
    </Stack>
  );
}

/** "Holidays of DE, sat, sun, 3 dates" */
function contents({ holidays, weekdays, dates, ics_bytes }: Calendar): string {
  return [
    holidays && `Holidays of ${holidays}`,
    ...weekdays,
    dates.length > 0 && `${dates.length} ${dates.length === 1 ? "date" : "dates"}`,
    ics_bytes > 0 && "iCalendar",
  ]
    .filter(Boolean)
    .join(", ");
}

function Row({ calendar, ask }: { calendar: Calendar; ask: (what: "edit" | "delete") => void }) {
  const mayWrite = useMay("write");
  const detail = useQuery(calendarQuery(calendar.id));
  return (
    <Table.Tr>
      <Table.Td className="stack-title title-cell">
        <div>
          <Text size="sm" fw={600} className="breaks">
            {calendar.name}
          </Text>
          <Text size="xs" c="dimmed" className="breaks">
            {contents(calendar)}
            {calendar.description && ` · ${calendar.description}`}
          </Text>
        </div>
      </Table.Td>
      <Table.Td data-label="Next days" className="words-cell">
        <div>
          {(detail.data?.upcoming ?? []).slice(0, 3).map((each) => (
            <Text key={each.day} size="xs" className="breaks">
              <span className="nowrap">{each.day}</span> {each.label}
            </Text>
          ))}
          {detail.data && !detail.data.upcoming.length && (
            <Text size="xs" c="dimmed">
              None within a year
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td data-label="Used by">
        <Text size="sm" className="breaks">
          {detail.data?.users.join(", ") || "–"}
        </Text>
      </Table.Td>
      <Table.Td>
        {mayWrite && (
          <Group gap={6}>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => ask("edit")}
              aria-label={`Edit ${calendar.name}`}
            >
              Edit
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => ask("delete")}
              aria-label={`Delete ${calendar.name}`}
            >
              Delete…
            </Button>
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

/** The list does not have the iCalendar text, so it is read first. */
function EditForm({ calendar, close }: { calendar: Calendar; close: () => void }) {
  const detail = useQuery(calendarQuery(calendar.id));
  return detail.data ? <CalendarForm calendar={calendar} ics={detail.data.ics ?? ""} close={close} /> : null;
}

function CalendarForm({ calendar, ics, close }: { calendar?: Calendar; ics: string; close: () => void }) {
  const [draft, setDraft] = useState(() => ({
    name: calendar?.name ?? "",
    dates: (calendar?.dates ?? []).join("\n"),
    weekdays: (calendar?.weekdays ?? []) as Weekday[],
    holidays: calendar?.holidays ?? "",
    ics,
    description: calendar?.description ?? "",
  }));
  const set = (change: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...change }));
  const request = {
    dates: draft.dates.split("\n").filter((line) => line.trim()),
    weekdays: draft.weekdays,
    holidays: draft.holidays,
    ics: draft.ics,
    description: draft.description,
  };
  const save = useAction(
    () =>
      calendar ? calendarActs.update(calendar.id, request) : calendarActs.create({ name: draft.name, ...request }),
    { done: `${draft.name} ${calendar ? "saved" : "created"}`, after: close, quiet: true },
  );
  const fault = save.error ? asProblem(save.error) : null;
  const text = (name: "name" | "dates" | "holidays" | "ics" | "description") => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
    error: fault?.of(name),
  });
  return (
    <Dialog onClose={close} title={calendar ? `Edit ${calendar.name}` : "New calendar"} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          {!calendar && <TextInput label="Name" required {...text("name")} data-autofocus />}
          <TextInput
            label="Public holidays"
            description="Country code, or one of its parts: DE, DE-BY, US-CA"
            {...text("holidays")}
          />
          <Input.Wrapper label="Weekdays" labelElement="div" error={fault?.of("weekdays")}>
            <Chip.Group
              multiple
              value={draft.weekdays}
              onChange={(weekdays) => set({ weekdays: weekdays as Weekday[] })}
            >
              <Group gap={6} role="group" aria-label="Weekdays">
                {WEEKDAYS.map(([value, label]) => (
                  <Chip key={value} value={value} size="xs">
                    {label}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
          </Input.Wrapper>
          <Textarea
            label="Dates"
            description="One in each line: 2026-12-24, or 2026-12-27..2026-12-31, and a label after it"
            autosize
            minRows={3}
            maxRows={12}
            {...text("dates")}
          />
          <Textarea label="iCalendar text" autosize minRows={2} maxRows={8} {...text("ics")} />
          <TextInput label="Description" {...text("description")} />
          {fault && !fault.faults.some((each) => each.pointer) && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              {calendar ? "Save" : "Create calendar"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
