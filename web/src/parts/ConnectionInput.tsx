import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { connectionsQuery } from "../api/connections";

/** Shown once the tenant has a connection. */
export function ConnectionInput(props: { value: string; set: (name: string) => void; error: string | undefined }) {
  const connections = useQuery(connectionsQuery);
  const names = (connections.data?.items ?? []).map((each) => each.name);
  if (!names.length && !props.value) return null;
  return (
    <Select
      label="Connection"
      description="Adds its credentials, TLS and proxy settings; the URL may be a path relative to its base URL"
      placeholder="None"
      clearable
      data={[...new Set([...names, ...(props.value ? [props.value] : [])])]}
      value={props.value || null}
      onChange={(name) => props.set(name ?? "")}
      error={props.error}
      data-field="connection"
    />
  );
}
