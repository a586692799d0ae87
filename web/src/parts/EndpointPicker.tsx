/** One endpoint out of any number: the server finds it by what is typed. */
import { Select, type SelectProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { endpointQuery, endpointsQuery } from "../api/queries";

/** `value` may be an id or a name. */
type Props = { value: string | null; set: (id: string | null) => void } & Omit<
  SelectProps,
  "value" | "data" | "onChange"
>;

export function EndpointPicker({ value, set, ...rest }: Props) {
  const [search, setSearch] = useState(""); // kept here: left to itself, Mantine's field forgets it with every new list
  const [text] = useDebouncedValue(search.trim(), 200);
  const chosen = useQuery({ ...endpointQuery(value ?? ""), enabled: !!value });
  const found = useInfiniteQuery({
    ...endpointsQuery(text && text !== chosen.data?.name ? { text } : {}, 20),
    placeholderData: (before) => before,
  });
  // Until the server has answered, the list it gave before is narrowed here: it must not move under a click later on.
  const searching = found.isPlaceholderData || search.trim() !== text;
  const choices = (found.data?.pages[0]?.items ?? [])
    .map((each) => ({ value: each.id, label: each.name }))
    .filter((each) => !searching || each.label.toLowerCase().includes(search.trim().toLowerCase()));
  if (chosen.data && !choices.some((each) => each.value === chosen.data.id))
    choices.unshift({ value: chosen.data.id, label: chosen.data.name });
  return (
    <Select
      searchable
      data={choices}
      searchValue={search}
      onSearchChange={setSearch}
      filter={({ options }) => options}
      value={value && (chosen.data?.id ?? value)}
      onChange={set}
      onFocus={(event) => event.currentTarget.select()}
      nothingFoundMessage={searching ? "Searching…" : "No endpoint matches"}
      placeholder="Type part of the name"
      style={{ flex: 1, minWidth: 200 }}
      {...rest}
    />
  );
}
