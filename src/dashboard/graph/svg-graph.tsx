import type { GraphNodeBody } from '../../wire.ts';
import { count, duration } from '../text/format.ts';
import { saysMore, toneOf } from '../text/words.ts';
import { type Layout, LINES, NODE, type Point } from './layout.ts';
import { isConsequence, type Look, lookOfMembers } from './node-state.ts';
import { type DrawnNode, OTHERS, type Structure } from './structure.ts';

/** Room for the arrow at the end of an edge, in pixels. */
const ARROW = 5;

/** Draws the nodes and edges. Each node can be reached by keyboard and read by a screen reader. */
export function SvgGraph(
  props: Pick<NodeProps, 'onPick' | 'onReach'> & {
    readonly structure: Structure;
    readonly layout: Layout;
    readonly nodes: ReadonlyMap<string, GraphNodeBody>;
    /** Id of the task for which the workflow was opened. */
    readonly asked: string;
    readonly selected: string | null;
    readonly matches: ReadonlySet<string> | null;
  },
) {
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
      {structure.nodes.map((node) => (
        <Node
          key={node.id}
          node={node}
          label={titles.get(node.id) ?? []}
          at={layout.points.get(node.id) ?? { x: 0, y: 0 }}
          look={lookOf(node, nodes)}
          isAsked={node.id === asked}
          isSelected={node.id === selected}
          isFaded={matches !== null && !matches.has(node.id)}
          onPick={onPick}
          onReach={onReach}
        />
      ))}
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
  /** Its centre. */
  readonly at: Point;
  readonly look: Look;
  readonly isAsked: boolean;
  readonly isSelected: boolean;
  readonly isFaded: boolean;
  readonly onPick: (id: string) => void;
  /** Called when the keyboard has moved the focus to the node. */
  readonly onReach: (id: string) => void;
}

function Node(props: NodeProps) {
  const { node, label, at, look, isAsked, isSelected, isFaded, onPick, onReach } = props;
  const { tone, line } = look;
  const places = LINES[label.length] ?? [];
  return (
    <g
      class={`node node-${node.kind} tone-${tone}${isAsked ? ' asked' : ''}${isSelected ? ' selected' : ''}${isFaded ? ' faded' : ''}`}
      transform={`translate(${at.x - NODE.width / 2} ${at.y - NODE.height / 2})`}
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
      <title>{`${titleOf(node)}, ${line}`}</title>
      {node.kind === 'tasks' && <rect x={5} y={5} width={NODE.width} height={NODE.height} rx={6} />}
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

/** How a node is drawn in the current state of its tasks. */
function lookOf(drawn: DrawnNode, nodes: ReadonlyMap<string, GraphNodeBody>): Look {
  const node = nodes.get(drawn.members[0] ?? '');
  if (drawn.kind === 'tasks') return lookOfMany(drawn.members.map((id) => stateOf(nodes.get(id))));
  if (node === undefined) return { tone: 'waiting', line: '' };
  if (node.members !== null) return lookOfMembers(node.members);
  if (node.state === null) return { tone: 'waiting', line: 'not reported yet' };
  if (isConsequence(node)) return { tone: 'waiting', line: 'never ran' };
  const time = node.duration_ms === null ? '' : ` · ${duration(node.duration_ms)}`;
  const retries = node.retries !== null && node.retries > 0 ? ` · retry ${node.retries}` : '';
  const own = saysMore(node.engine_state) ? ` · ${node.engine_state}` : '';
  return { tone: toneOf(node.state), line: `${node.state}${own}${time}${retries}` };
}

/** A task that never ran is drawn as not sent. */
function stateOf(node: GraphNodeBody | undefined): string | null {
  return node === undefined || isConsequence(node) ? null : node.state;
}

function lookOfMany(states: readonly (string | null)[]): Look {
  const of = (state: string): number => states.filter((candidate) => candidate === state).length;
  const [success, failure, running] = [of('SUCCESS'), of('FAILURE'), of('STARTED')];
  return lookOfMembers({ total: states.length, success, failure, running, retry: 0 });
}

/** The title of a node in the drawing. */
export const titleOf = ({ kind, name, members }: DrawnNode): string =>
  kind === 'tasks' ? `${count(members.length)}${name === OTHERS ? '' : ' ×'} ${name}` : name;

/** Characters of each of the two lines of a title. */
const LINE_LENGTH = 22;

/**
 * The titles of drawn nodes by their ids, each in one or two lines: the second has the last segment of the name, cut in
 * its middle, and the first has the part that distinguishes it from the others.
 */
function titleLines(nodes: readonly DrawnNode[]): ReadonlyMap<string, readonly string[]> {
  const heads = titlesOf(
    nodes.map((node) => ({ ...node, name: node.name.slice(0, Math.max(0, node.name.lastIndexOf('.'))) })),
    LINE_LENGTH - 1,
  );
  return new Map(
    nodes.map((node) => {
      const [title, last] = [titleOf(node), lastOf(node.name)];
      if (title.length <= LINE_LENGTH) return [node.id, [title]];
      const isWhole = last === node.name;
      const first = isWhole ? title.slice(0, LINE_LENGTH) : `${heads.get(node.id)}.`;
      return [node.id, [first, middleCut(isWhole ? title.slice(LINE_LENGTH) : last)]];
    }),
  );
}

function middleCut(text: string): string {
  if (text.length <= LINE_LENGTH) return text;
  const start = Math.floor((LINE_LENGTH - 1) / 2);
  return `${text.slice(0, start)}…${text.slice(start + 1 - LINE_LENGTH)}`;
}

/** Cuts a text at its end. */
function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Maximum number of names with the same ending with which a name is compared. */
const MOST_RIVALS = 200;

/**
 * Titles of at most `most` characters. Of a longer dotted name, the part that distinguishes it from the other names is
 * kept: its end, or the segment that differs.
 *
 * @returns the title of each drawn node by its id
 */
function titlesOf(nodes: readonly DrawnNode[], most: number): ReadonlyMap<string, string> {
  const byEnd = Map.groupBy(new Set(nodes.map(({ name }) => name)), lastOf);
  return new Map(
    nodes.map((node) => {
      const title = titleOf(node);
      if (title.length <= most) return [node.id, title];
      const before = title.slice(0, title.length - node.name.length);
      const rivals = (byEnd.get(lastOf(node.name)) ?? []).filter((name) => name !== node.name);
      return [node.id, before + distinct(node.name, rivals.slice(0, MOST_RIVALS), most - before.length)];
    }),
  );
}

const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** @param rivals other names with the same last segment */
function distinct(name: string, rivals: readonly string[], most: number): string {
  const parts = name.split('.');
  const ends = parts.map((_, index) => parts.slice(index).join('.')).slice(1);
  const end = ends.find(({ length }) => length < most) ?? '';
  const alike = rivals.filter((rival) => `.${rival}`.endsWith(end === '' ? '' : `.${end}`));
  if (end !== '' && alike.length === 0) return `…${end}`;
  const others = alike.map((rival) => rival.split('.'));
  const differing = parts.findLast((part, index) =>
    others.some((other) => other[other.length - parts.length + index] !== part),
  );
  const head = short(differing ?? name, Math.floor(most / 2));
  return `${head}…${name.slice(head.length + 1 - most)}`;
}
