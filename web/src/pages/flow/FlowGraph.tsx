/** A workflow as a picture: its steps, the ways between them, and where executions are. */
import { type KeyboardEvent, useId, useMemo } from "react";
import type { Graph } from "../../api/flows";
import { BOX, layout, type Placed } from "./layout";

export type StepState = "done" | "here" | "failed" | "left";
type Props = { graph: Graph; states?: Map<string, StepState>; notes?: Map<string, string>; onStep?: (step: string) => void };

/** Beside the colour, for whoever cannot tell it or does not know what it means. */
const WORDS: Record<StepState, string> = { done: "done", here: "now", failed: "failed", left: "not done" };

const LEAST_SCALE = 0.7; // smaller could not be read: then it scrolls

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function FlowGraph({ graph, states, notes, onStep }: Props) {
  const drawn = useMemo(() => layout(graph.nodes, graph.edges), [graph]);
  const marker = useId();
  return (
    <div className="graph" tabIndex={0} role="group" aria-label={`Graph of ${graph.nodes.length} steps`}>
      <svg viewBox={`0 0 ${drawn.width} ${drawn.height}`} style={{ display: "block", margin: "0 auto", width: "100%", maxWidth: drawn.width, minWidth: drawn.width * LEAST_SCALE }}>
        <defs><marker id={marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--idle)" /></marker></defs>
        {graph.edges.map((edge) => {
          const from = drawn.places.get(edge.source);
          const to = drawn.places.get(edge.target);
          if (!from || !to) return null;
          const { path, x, y } = way(from, to, drawn.back.has(edge.id), drawn.width);
          return (
            <g key={edge.id}>
              <path className="edge" d={path} markerEnd={`url(#${marker})`} strokeDasharray={edge.kind === "timeout" || edge.kind === "failure" ? "4 4" : undefined} />
              {edge.label && <text className="edge-label" x={x} y={y} textAnchor="middle">{cut(edge.label, 30)}<title>{edge.label}</title></text>}
            </g>
          );
        })}
        {graph.nodes.map((node) => {
          const place = drawn.places.get(node.id);
          if (!place) return null;
          const state = states?.get(node.id);
          const note = notes ? notes.get(node.id) : state && WORDS[state];
          return (
            <g key={node.id} className="node" data-state={state} transform={`translate(${place.x} ${place.y})`} {...(onStep ? asLink(node.id, onStep) : {})}>
              <rect width={BOX.width} height={BOX.height} rx={node.kind === "end" ? 22 : 8} />
              <text x={12} y={19} fontWeight={600}>{cut(node.id === "$end" ? "end" : node.id, note ? 17 : 22)}</text>
              <text x={12} y={35} className="kind">{cut(node.label && node.label !== node.id ? node.label : node.kind, 25)}</text>
              {note && <text x={BOX.width - 10} y={19} textAnchor="end" className="note">{note}</text>}
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
    role: "link", tabIndex: 0, style: { cursor: "pointer" },
    onClick: () => open(step),
    onKeyDown: (event: KeyboardEvent) => { if (event.key === "Enter") open(step); },
  };
}

function way(from: Placed, to: Placed, isBack: boolean, width: number): { path: string; x: number; y: number } {
  if (isBack) {
    const side = width - BOX.margin;
    const [y1, y2] = [from.y + BOX.height / 2, to.y + BOX.height / 2];
    return { path: `M${from.x + BOX.width} ${y1}C${side} ${y1} ${side} ${y2} ${to.x + BOX.width + 2} ${y2}`, x: side - 30, y: (y1 + y2) / 2 };
  }
  const [x1, y1, x2, y2] = [from.x + BOX.width / 2, from.y + BOX.height, to.x + BOX.width / 2, to.y - 2];
  const half = (y1 + y2) / 2;
  return { path: `M${x1} ${y1}C${x1} ${half} ${x2} ${half} ${x2} ${y2}`, x: (x1 + x2) / 2, y: half + 4 };
}
