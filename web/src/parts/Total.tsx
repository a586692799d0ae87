/** How many a list has, and a column by which it is sorted. */
import { Text } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { EndpointFilters, ExecutionFilters, RunFilters } from "../api/types";

type Counted = { count: number; is_exact: boolean } | null | undefined;

/** "1 run", "52 runs", "10,000+ runs". */
export function totalWords(total: Counted, one: string, many: string): string {
  if (!total) return "";
  return `${total.count.toLocaleString("en")}${total.is_exact ? "" : "+"} ${total.count === 1 && total.is_exact ? one : many}`;
}

export function Total({ total, one, many }: { total: Counted; one: string; many: string }) {
  return (
    <Text size="sm" c="dimmed" className="tabular" role="status" mih="1lh">
      {totalWords(total, one, many)}
    </Text>
  );
}

type Sort = NonNullable<(EndpointFilters | RunFilters | ExecutionFilters)["sort"]>;
type Column = {
  by: "name" | "next_run_at" | "started_at" | "created_at";
  children: string;
  /** What the list is sorted by where the address says nothing. */
  first: Sort;
};

/** The server sorts, over all pages; the order is in the address. */
export function SortedBy({ by, children, first }: Column) {
  const { sort = first } = useSearch({ strict: false });
  const navigate = useNavigate();
  const isUp = sort === by;
  const down = `-${by}` as const;
  const isDown = sort === down;
  const next = isUp ? down : isDown ? by : first.replace("-", "") === by ? first : by;
  const go = () =>
    void navigate({
      to: ".",
      search: (before) => ({ ...before, sort: next === first ? undefined : next }),
      replace: true,
    });
  return (
    <th aria-sort={isUp ? "ascending" : isDown ? "descending" : "none"}>
      <button type="button" className="sorted-by" onClick={go}>
        {children}
        <span aria-hidden>{isUp ? " ↑" : isDown ? " ↓" : ""}</span>
      </button>
    </th>
  );
}
