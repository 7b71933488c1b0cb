import type { GraphNodeBody } from '../../client.ts';
import { lookOf } from './looks.ts';
import { type Layout, LINES, NODE } from './points.ts';
import type { DrawnEdge, DrawnNode, Structure } from './structure.ts';
import { short, titleLines, titleOf } from './titles.ts';

/** Properties of both drawings, SVG and canvas. */
export interface DrawingProps {
  readonly structure: Structure;
  readonly layout: Layout;
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  /** Id of the task for which the workflow was opened. */
  readonly asked: string;
  readonly selected: string | null;
  readonly matches: ReadonlySet<string> | null;
  readonly onPick: (id: string) => void;
}

/** Draws up to some hundred nodes. Each can be reached by keyboard and read by a screen reader. */
export function SvgGraph(props: DrawingProps & Pick<NodeProps, 'onReach'>) {
  const { structure, layout, nodes, asked, selected, matches, onPick, onReach } = props;
  const titles = titleLines(structure.nodes);
  return (
    <>
      {structure.edges.map((edge) => (
        <Edge key={`${edge.source}\n${edge.target}`} edge={edge} layout={layout} />
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

function Edge({ edge, layout }: { readonly edge: DrawnEdge; readonly layout: Layout }) {
  const from = layout.points.get(edge.source);
  const to = layout.points.get(edge.target);
  if (from === undefined || to === undefined) return null;
  const d = layout.isDown
    ? curve(
        from.y + NODE.height / 2,
        from.x,
        to.y - NODE.height / 2 - 5,
        to.x,
        (along, across) => `${across} ${along}`,
      )
    : curve(
        from.x + NODE.width / 2,
        from.y,
        to.x - NODE.width / 2 - 5,
        to.y,
        (along, across) => `${along} ${across}`,
      );
  return (
    <path
      class={`edge edge-${/^[a-z_]+$/.test(edge.kind) ? edge.kind : 'other'}`}
      d={d}
      marker-end="url(#arrow)"
    />
  );
}

/** A curve between the facing sides of two nodes, which leaves and arrives in the direction of the layers. */
function curve(
  a1: number,
  c1: number,
  a2: number,
  c2: number,
  point: (along: number, across: number) => string,
): string {
  const bend = Math.max(20, (a2 - a1) / 2);
  return `M${point(a1, c1)}C${point(a1 + bend, c1)} ${point(a2 - bend, c2)} ${point(a2, c2)}`;
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
