import { Text } from "@mantine/core";
import type { ReactNode } from "react";

export type Fact = [string, ReactNode];

/** Names and values, one a line. */
export function KeyValueList({ rows }: { rows: Fact[] }) {
  return (
    <dl style={{ display: "grid", gridTemplateColumns: "minmax(90px, auto) 1fr", gap: "4px 16px", margin: 0 }}>
      {rows.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} style={{ minWidth: 0 }} className="breaks">
            {value}
          </Text>
        </div>
      ))}
    </dl>
  );
}
