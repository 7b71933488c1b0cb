import type { GraphNodeBody } from '../../wire.ts';
import { type Layout, LINES, NODE, type Point } from './layout.ts';
import { lookOf } from './looks.ts';
import type { DrawnNode, Structure } from './structure.ts';
import { short, titleLines, titleOf } from './titles.ts';

/** Room for the arrow at the end of an edge, in pixels. */
const ARROW = 5;

interface DrawingProps extends Pick<NodeProps, 'onPick' | 'onReach'> {
  readonly structure: Structure;
  readonly layout: Layout;
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  /** Id of the task for which the workflow was opened. */
  readonly asked: string;
  readonly selected: string | null;
  readonly matches: ReadonlySet<string> | null;
}

/** Draws the nodes and edges. Each node can be reached by keyboard and read by a screen reader. */
export function SvgGraph(props: DrawingProps) {
  const { structure, layout, nodes, asked, selected, matches, onPick, onReach } = props;
  const titles = titleLines(structure.nodes);
  return (
    <>
      {layout.routes.map(({ edge, points }) => (
        <path
          key={`${edge.source}\n${edge.target}`}
          class={`edge edge-${/^[a-z_]+$/.test(edge.kind) ? edge.kind : 'other'}`}
          d={lineOf(points, layout.isDown)}
          marker-end="url(#arrow)"
        />
      ))}
      {structure.nodes.map((node) => {
        const look = lookOf(node, nodes);
        return (
          <Node
            key={node.id}
            node={node}
            label={titles.get(node.id) ?? []}
            x={(layout.points.get(node.id)?.x ?? 0) - NODE.width / 2}
            y={(layout.points.get(node.id)?.y ?? 0) - NODE.height / 2}
            tone={look.tone}
            line={look.line}
            isAsked={node.id === asked}
            isSelected={node.id === selected}
            isFaded={matches !== null && !matches.has(node.id)}
            onPick={onPick}
            onReach={onReach}
          />
        );
      })}
    </>
  );
}

/** A line of curves from node to node, straight where it passes a rank. */
function lineOf(points: readonly Point[], isDown: boolean): string {
  const half = (isDown ? NODE.height : NODE.width) / 2;
  const text = (along: number, across: number): string =>
    isDown ? `${across} ${along}` : `${along} ${across}`;
  const parts: string[] = [];
  for (const [index, { x, y }] of points.entries()) {
    const [along, across] = isDown ? [y, x] : [x, y];
    const end = along - half - (index === points.length - 1 ? ARROW : 0);
    const before = points[index - 1];
    if (before !== undefined) {
      const [start, side] = isDown ? [before.y + half, before.x] : [before.x + half, before.y];
      const bend = Math.max(20, (end - start) / 2);
      parts.push(`C${text(start + bend, side)} ${text(end - bend, across)} ${text(end, across)}`);
    }
    if (index < points.length - 1) parts.push(`${index === 0 ? 'M' : 'L'}${text(along + half, across)}`);
  }
  return parts.join('');
}

interface NodeProps {
  readonly node: DrawnNode;
  /** The lines of the title, as far as they fit. */
  readonly label: readonly string[];
  readonly x: number;
  readonly y: number;
  readonly tone: string;
  readonly line: string;
  readonly isAsked: boolean;
  readonly isSelected: boolean;
  readonly isFaded: boolean;
  readonly onPick: (id: string) => void;
  /** Called when the keyboard has moved the focus to the node. */
  readonly onReach: (id: string) => void;
}

function Node(props: NodeProps) {
  const { node, label, x, y, tone, line, isAsked, isSelected, isFaded, onPick, onReach } = props;
  const title = titleOf(node);
  const places = LINES[label.length] ?? [];
  return (
    <g
      class={`node node-${node.kind} tone-${tone}${isAsked ? ' asked' : ''}${isSelected ? ' selected' : ''}${isFaded ? ' faded' : ''}`}
      transform={`translate(${x} ${y})`}
      role="button"
      // SVG has no attribute `tabIndex`: there, upper and lower case differ.
      tabindex={0}
      aria-pressed={isSelected}
      onFocus={(event) => {
        if (event.currentTarget.matches(':focus-visible')) onReach(node.id);
      }}
      onClick={() => onPick(node.id)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        onPick(node.id);
      }}
    >
      <title>{`${title}, ${line}`}</title>
      {node.kind === 'tasks' && (
        <rect class="shadow" x={5} y={5} width={NODE.width} height={NODE.height} rx={6} />
      )}
      <rect width={NODE.width} height={NODE.height} rx={6} />
      <path class="node-tone" d={`M0 6a6 6 0 0 1 5-6v${NODE.height}a6 6 0 0 1-5-6z`} />
      {label.map((text, index) => (
        <text key={text} class="node-name" x={14} y={places[index]}>
          {text}
        </text>
      ))}
      <text class="node-line" x={14} y={places[label.length]}>
        {short(line, 30)}
      </text>
    </g>
  );
}
