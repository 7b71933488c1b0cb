/** Computes the position of each node: layers from left to right, or from top to bottom. */
import dagre from '@dagrejs/dagre';
import { type Layout, NODE, type Point } from './points.ts';
import { layOutByRank } from './rank-layout.ts';
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
