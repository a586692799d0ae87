import { Card } from "@mantine/core";
import { memo, useRef } from "react";
import type { Execution } from "../../api/workflows";
import { executionPath, PlainLink } from "../../parts/PlainLink";
import { Spacer } from "../../parts/Spacer";
import { Mark } from "../../parts/Status";
import { SortedBy } from "../../parts/Total";
import { useWindow } from "../../parts/useWindow";
import { When } from "../../time/When";
import type { Tone } from "../../words/state";

const TONES: Record<string, Tone> = {
  pending: "idle",
  active: "calm",
  waiting: "calm",
  paused: "warn",
  completed: "good",
  failed: "bad",
  cancelled: "idle",
};
const WAITS: Record<string, string> = {
  time: "for a timer",
  event: "for an event",
  effect: "for a response",
  retry: "to retry",
};

export function ExecutionStatus({ status }: { status: string }) {
  return <Mark tone={TONES[status] ?? "idle"} word={status} />;
}

export const isOver = (status: string): boolean => ["completed", "cancelled"].includes(status);

/** How it ended; of one that was cancelled the outcome is the reason. */
export function ending({ status, outcome }: Pick<Execution, "status" | "outcome">): string {
  return status === "cancelled" ? ["cancelled", outcome].filter(Boolean).join(": ") : outcome;
}

/** Where it stands, in a few words. */
export function standing(execution: Pick<Execution, "status" | "step" | "outcome" | "error" | "waits_for">): string {
  if (execution.error) return `${execution.step}: ${execution.error}`;
  if (isOver(execution.status)) return ending(execution);
  return `${execution.step}${WAITS[execution.waits_for] ? `, waits ${WAITS[execution.waits_for]}` : ""}`;
}

export function ExecutionTable({
  executions,
  more,
  isSorted,
}: {
  executions: Execution[] /** Brings the next page. */;
  more?: () => void;
  isSorted?: boolean;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useWindow(executions.length, body, more);
  return (
    <Card padding={0}>
      <table className="list stacks">
        <thead>
          <tr>
            <th>Execution</th>
            <th>Status</th>
            <th>Step</th>
            <th>Next step</th>
            <th>Last activity</th>
            {isSorted ? (
              <SortedBy by="created_at" first="-created_at">
                Started
              </SortedBy>
            ) : (
              <th>Started</th>
            )}
          </tr>
        </thead>
        <tbody ref={body}>
          <Spacer px={seen.above} />
          {executions.slice(seen.from, seen.to).map((each, index) => (
            <Row key={each.id} execution={each} place={seen.from + index} />
          ))}
          <Spacer px={seen.below} />
        </tbody>
      </table>
    </Card>
  );
}

const Row = memo(function Row({ execution, place }: { execution: Execution; place: number }) {
  return (
    <tr data-row={place}>
      <td className="stack-title">
        <div>
          <PlainLink to={executionPath(execution.id)} strong className="breaks">
            {execution.correlation || execution.id}
          </PlainLink>
          <div className="small">
            {execution.workflow} v{execution.version}
          </div>
        </div>
      </td>
      <td data-label="Status">
        <ExecutionStatus status={execution.status} />
      </td>
      <td data-label="Step" className="words-cell">
        <div className="two-lines breaks">{standing(execution)}</div>
      </td>
      <td data-label="Next step">
        <When at={execution.wake_at} none="–" />
      </td>
      <td data-label="Last activity">
        <When at={execution.moved_at} />
      </td>
      <td data-label="Started">
        <When at={execution.created_at} />
      </td>
    </tr>
  );
});
