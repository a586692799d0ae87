/** One endpoint out of any number: the server finds it by what is typed. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { endpointQuery, endpointsQuery } from "../api/queries";

type Props = { value?: string | null | undefined; set: (id: string | null) => void; label?: string };

export function EndpointPicker({ value, set, label = "Endpoint" }: Props) {
  const [search, setSearch] = useState("");
  const [text] = useDebouncedValue(search.trim(), 200);
  const found = useInfiniteQuery(endpointsQuery(text ? { text } : {}, 20));
  const chosen = useQuery({ ...endpointQuery(value ?? ""), enabled: !!value });
  const choices = (found.data?.pages[0]?.items ?? []).map((each) => ({ value: each.id, label: each.name }));
  if (chosen.data && !choices.some((each) => each.value === chosen.data.id)) choices.unshift({ value: chosen.data.id, label: chosen.data.name });
  return (
    <Select label={label} required searchable data={choices} onSearchChange={setSearch} filter={({ options }) => options} {...(value === undefined ? {} : { value })}
      onChange={set} nothingFoundMessage="No such endpoint" placeholder="Type a part of its name" style={{ flex: 1, minWidth: 200 }} />
  );
}
