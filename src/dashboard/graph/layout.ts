/** Computes the position of each node: layers from left to right, or from top to bottom. */
import dagre from '@dagrejs/dagre';
import { type Layout, NODE, type Point } from './points.ts';
import type { Structure } from './structure.ts';

/** Number of nodes and edges above which dagre takes too long: for 160 it takes 25 ms, and on a slow processor 100. */
const MOST_FOR_DAGRE = 160;

/** Lays out a graph with dagre, or by rank if it is too large for dagre. */
export function layOut(structure: Structure, isNarrow: boolean): Layout {
  const { nodes, edges } = structure;
  if (nodes.length + edges.length > MOST_FOR_DAGRE) return layOutByRank(structure);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    rankdir: isNarrow ? 'TB' : 'LR',
    nodesep: 14,
    ranksep: isNarrow ? 40 : 60,
    marginx: 20,
    marginy: 20,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const { source, target } of edges) graph.setEdge(source, target);
  dagre.layout(graph);
  const points = new Map<string, Point>();
  let [width, height] = [0, 0];
  for (const { id } of nodes) {
    const { x = 0, y = 0 } = graph.node(id) as Partial<Point>;
    points.set(id, { x, y });
    width = Math.max(width, x + NODE.width / 2 + 20);
    height = Math.max(height, y + NODE.height / 2 + 20);
  }
  return { points, width, height, isDown: isNarrow };
}

const STEP_X = 250;
const STEP_Y = NODE.height + 14;
/** A layer with more nodes is split into columns. */
const MOST_IN_COLUMN = 40;
const COLUMN_X = 205;
const MARGIN = 20;
const HALF = { x: NODE.width / 2, y: NODE.height / 2 };

/** Places each node by its rank: one layer per rank, from left to right. */
function layOutByRank({ nodes, edges }: Structure): Layout {
  const ranks = ranksOf(
    nodes.map(({ id }) => id),
    edges,
  );
  const sources = new Map<string, string[]>();
  for (const { source, target } of edges) {
    const before = sources.get(target);
    if (before === undefined) sources.set(target, [source]);
    else before.push(source);
  }
  const layers: string[][] = [];
  for (const { id } of nodes) {
    const rank = ranks.get(id) ?? 0;
    let layer = layers[rank];
    if (layer === undefined) {
      layer = [];
      layers[rank] = layer;
    }
    layer.push(id);
  }

  const points = new Map<string, Point>();
  let x = MARGIN + HALF.x;
  let height = 0;
  for (const layer of layers) {
    if (layer === undefined) continue;
    // Centre a node on its predecessors.
    const middle = (id: string): number => {
      const ys = (sources.get(id) ?? []).map((source) => points.get(source)?.y ?? 0);
      return ys.length === 0 ? 0 : ys.reduce((sum, y) => sum + y, 0) / ys.length;
    };
    const wanted = new Map(layer.map((id) => [id, middle(id)]));
    const ordered = layer.toSorted((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    const columns = Math.ceil(ordered.length / MOST_IN_COLUMN);
    const perColumn = Math.ceil(ordered.length / columns);
    let y = 0;
    ordered.forEach((id, index) => {
      const row = index % perColumn;
      if (row === 0) y = MARGIN + HALF.y;
      const column = Math.floor(index / perColumn);
      // In a layer of one column a node is placed beside its predecessors; several columns are packed.
      if (columns === 1) y = Math.max(y, wanted.get(id) ?? 0);
      points.set(id, { x: x + column * COLUMN_X, y });
      height = Math.max(height, y + HALF.y + MARGIN);
      y += STEP_Y;
    });
    x += (columns - 1) * COLUMN_X + STEP_X;
  }
  return { points, width: x - STEP_X + HALF.x + MARGIN, height, isDown: false };
}

/**
 * Rank of each node: the longest path from a node without predecessors. Nodes of a cycle rank after the
 * predecessors of the cycle.
 */
function ranksOf(ids: readonly string[], edges: Structure['edges']): Map<string, number> {
  const targets = new Map<string, string[]>();
  const open = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const { source, target } of edges) {
    const before = targets.get(source);
    if (before === undefined) targets.set(source, [target]);
    else before.push(target);
    open.set(target, (open.get(target) ?? 0) + 1);
  }
  const ranks = new Map<string, number>(ids.map((id) => [id, 0]));
  const done = new Set<string>();
  const waiting = ids.filter((id) => open.get(id) === 0);
  let next = 0;
  while (done.size < ids.length) {
    let id = waiting.pop();
    if (id === undefined) {
      // Only cycles are left. Break one at its first node.
      while (next < ids.length && done.has(ids[next] ?? '')) next += 1;
      id = ids[next];
      if (id === undefined) break;
    }
    if (done.has(id)) continue;
    done.add(id);
    for (const target of targets.get(id) ?? []) {
      if (done.has(target)) continue;
      ranks.set(target, Math.max(ranks.get(target) ?? 0, (ranks.get(id) ?? 0) + 1));
      const left = (open.get(target) ?? 1) - 1;
      open.set(target, left);
      if (left === 0) waiting.push(target);
    }
  }
  return ranks;
}
