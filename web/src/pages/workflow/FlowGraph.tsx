/** A workflow as a picture: its steps, the ways between them, and where executions are. */
import { type KeyboardEvent, useId, useMemo } from "react";
import type { Graph } from "../../api/workflows";
import { BOX, layout, type Placed } from "./layout";

export type StepState = "done" | "here" | "failed" | "left";
type Props = {
  graph: Graph;
  states?: Map<string, StepState>;
  notes?: Map<string, string>;
  onStep?: (step: string) => void;
};

/** Beside the colour, for whoever cannot tell it or does not know what it means. */
const WORDS: Record<StepState, string> = { done: "done", here: "now", failed: "failed", left: "not done" };

const LEAST_SCALE = 0.7; // smaller could not be read: then it scrolls

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function FlowGraph({ graph, states, notes, onStep }: Props) {
  const drawn = useMemo(() => layout(graph.nodes, graph.edges), [graph]);
  const marker = useId();
  return (
    <div className="graph" tabIndex={0} role="group" aria-label={`Graph of ${graph.nodes.length} steps`}>
      <svg
        viewBox={`0 0 ${drawn.width} ${drawn.height}`}
        style={{
          display: "block",
          margin: "0 auto",
          width: "100%",
          maxWidth: drawn.width,
          minWidth: drawn.width * LEAST_SCALE,
        }}
      >
        <defs>
          <marker id={marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8z" fill="var(--idle)" />
          </marker>
        </defs>
        {graph.edges.map((edge) => {
          const from = drawn.places.get(edge.source);
          const to = drawn.places.get(edge.target);
          if (!from || !to) return null;
          const lane = drawn.lanes.get(edge.id);
          const { path, x, y, anchor } =
            lane === undefined ? wayDown(from, to, drawn.via.get(edge.id) ?? []) : wayBack(from, to, lane);
          return (
            <g key={edge.id}>
              <path
                className="edge"
                d={path}
                markerEnd={`url(#${marker})`}
                strokeDasharray={edge.kind === "timeout" || edge.kind === "failure" ? "4 4" : undefined}
              />
              {edge.label && (
                <text className="edge-label" x={x} y={y} textAnchor={anchor}>
                  {cut(edge.label, anchor === "start" ? 22 : 30)}
                  <title>{edge.label}</title>
                </text>
              )}
            </g>
          );
        })}
        {graph.nodes.map((node) => {
          const place = drawn.places.get(node.id);
          if (!place) return null;
          const state = states?.get(node.id);
          const note = notes ? notes.get(node.id) : state && WORDS[state];
          return (
            <g
              key={node.id}
              className="node"
              data-state={state}
              transform={`translate(${place.x} ${place.y})`}
              {...(onStep ? asLink(node.id, onStep) : {})}
            >
              <rect width={BOX.width} height={BOX.height} rx={node.kind === "end" ? 22 : 8} />
              <text x={12} y={19} fontWeight={600}>
                {cut(node.id === "$end" ? "end" : node.id, note ? 17 : 22)}
              </text>
              <text x={12} y={35} className="kind">
                {cut(node.label && node.label !== node.id ? node.label : node.kind, 25)}
              </text>
              {note && (
                <text x={BOX.width - 10} y={19} textAnchor="end" className="note">
                  {note}
                </text>
              )}
              <title>{`${node.id}: ${node.kind}${node.label ? `, ${node.label}` : ""}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** A step that leads somewhere, by mouse and by keyboard. */
function asLink(step: string, open: (step: string) => void) {
  return {
    role: "link",
    tabIndex: 0,
    style: { cursor: "pointer" },
    onClick: () => open(step),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter") open(step);
    },
  };
}

const ROUND = 8;
type Way = { path: string; x: number; y: number; anchor: "middle" | "start" };

/** Down through the places it passes; each piece leaves and arrives upright. */
function wayDown(from: Placed, to: Placed, via: Placed[]): Way {
  let [x, y] = [from.x + BOX.width / 2, from.y + BOX.height];
  const [firstX, firstY] = [x, y];
  let path = `M${x} ${y}`;
  const stops = [
    ...via.flatMap((each) => [
      { x: each.x, y: each.y },
      { x: each.x, y: each.y + BOX.height },
    ]),
    { x: to.x + BOX.width / 2, y: to.y - 2 },
  ];
  for (const stop of stops) {
    const half = (y + stop.y) / 2;
    path += x === stop.x ? `L${stop.x} ${stop.y}` : `C${x} ${half} ${stop.x} ${half} ${stop.x} ${stop.y}`;
    [x, y] = [stop.x, stop.y];
  }
  const next = stops[0] ?? to;
  return { path, x: (firstX + next.x) / 2, y: (firstY + next.y) / 2 + 4, anchor: "middle" };
}

/** Out below its step, up in a lane of its own beside all of them, and in from above. */
function wayBack(from: Placed, to: Placed, lane: number): Way {
  const [x1, x2] = [from.x + BOX.width * 0.7, to.x + BOX.width * 0.7];
  const [y1, y2] = [from.y + BOX.height + BOX.gapY / 2 - 4, to.y - BOX.gapY / 2 + 4];
  const path = `M${x1} ${from.y + BOX.height}V${y1 - ROUND}q0 ${ROUND} ${ROUND} ${ROUND}H${lane - ROUND}q${ROUND} 0 ${ROUND} ${-ROUND}V${y2 + ROUND}q0 ${-ROUND} ${-ROUND} ${-ROUND}H${x2 + ROUND}q${-ROUND} 0 ${-ROUND} ${ROUND}V${to.y - 2}`;
  return { path, x: lane + 6, y: (y1 + y2) / 2 + 4, anchor: "start" };
}
