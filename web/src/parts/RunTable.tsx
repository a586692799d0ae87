/** Runs, newest first. Plain elements: a list holds hundreds of rows. */
import { Card } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { memo, useCallback, useRef } from "react";
import type { Run } from "../api/types";
import { useRows } from "../shell/useRows";
import { When } from "../time/When";
import { took } from "../words/duration";
import { sourceWords } from "../words/state";
import { endpointPath, PlainLink, runPath } from "./PlainLink";
import { Spacer } from "./Spacer";
import { RunStatus } from "./Status";
import { SortedBy } from "./Total";
import { useWindow } from "./useWindow";

type Props = {
  runs: Run[];
  hideEndpoint?: boolean /** On a card already, so without one of its own. */;
  plain?: boolean /** Brings the next page. */;
  more?: () => void;
  isSorted?: boolean;
};

export function RunTable({ runs, hideEndpoint = false, plain, more, isSorted }: Props) {
  const navigate = useNavigate();
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useWindow(runs.length, body, more);
  const show = useCallback((id: string) => void navigate({ to: "/runs/$run", params: { run: id } }), [navigate]);
  const rows = useRows(
    runs.length,
    (place) => {
      const run = runs[place];
      if (run) show(run.id);
    },
    undefined,
    seen.reveal,
  );
  const hasErrors = runs.some((run) => run.error);
  return (
    <Card
      padding={0}
      withBorder={!plain}
      radius={plain ? 0 : undefined}
      mx={plain ? "calc(var(--mantine-spacing-md) * -1)" : undefined}
    >
      <table className={plain ? "list stacks compact inset" : "list stacks compact"}>
        <thead>
          <tr>
            {isSorted ? (
              <SortedBy by="started_at" first="-started_at">
                Started
              </SortedBy>
            ) : (
              <th>Started</th>
            )}
            {!hideEndpoint && <th>Endpoint</th>}
            <th>Outcome</th>
            <th className="figure">Duration</th>
            <th className="roomy">Trigger</th>
            {hasErrors && <th>Error</th>}
          </tr>
        </thead>
        <tbody ref={body}>
          <Spacer px={seen.above} />
          {runs.slice(seen.from, seen.to).map((run, index) => {
            const place = seen.from + index;
            return (
              <Row
                key={run.id}
                run={run}
                place={place}
                isAt={rows.at === place}
                hideEndpoint={hideEndpoint}
                hasErrors={hasErrors}
                show={show}
              />
            );
          })}
          <Spacer px={seen.below} />
        </tbody>
      </table>
    </Card>
  );
}

type RowProps = {
  run: Run;
  place: number;
  isAt: boolean;
  hideEndpoint: boolean;
  hasErrors: boolean;
  show: (id: string) => void;
};

const Row = memo(function Row({ run, place, isAt, hideEndpoint, hasErrors, show }: RowProps) {
  return (
    <tr
      data-row={place}
      data-chosen={isAt || undefined}
      className="row-link"
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a")) show(run.id);
      }}
    >
      <td className="nowrap stack-title">
        <PlainLink to={runPath(run.id)}>
          <When at={run.started_at} />
        </PlainLink>
      </td>
      {!hideEndpoint && (
        <td data-label="Endpoint" className="breaks">
          <PlainLink to={endpointPath(run.endpoint_id)} className="go-inherit">
            {run.endpoint}
          </PlainLink>
        </td>
      )}
      <td data-label="Outcome">
        <RunStatus status={run.status} code={run.status_code} />
      </td>
      <td data-label="Duration" className="figure">
        {took(run.duration_ms)}
      </td>
      <td data-label="Trigger" className="nowrap dim roomy">
        {run.trigger === "schedule" ? sourceWords(run.source) : run.trigger}
        {run.attempt > 1 ? `, attempt ${run.attempt}` : ""}
      </td>
      {hasErrors && (
        <td {...(run.error ? { "data-label": "Error" } : {})}>
          {run.error && (
            <div className="clip error-cell" title={run.error}>
              {run.error}
            </div>
          )}
        </td>
      )}
    </tr>
  );
});
