import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { calendarsQuery } from "../api/calendars";

type Props = {
  label: string;
  description: string;
  value: string;
  set: (name: string) => void;
  error: string | undefined;
  "data-field": string;
};

export function CalendarInput({ value, set, ...others }: Props) {
  const calendars = useQuery(calendarsQuery);
  const names = (calendars.data?.items ?? []).map((each) => each.name);
  return (
    <Select
      {...others}
      placeholder={names.length ? "None" : "No calendars yet"}
      clearable
      data={[...new Set([...names, ...(value ? [value] : [])])]}
      value={value || null}
      onChange={(name) => set(name ?? "")}
    />
  );
}
