/** The steps of graphs, run to their end at once. */

import { buildGraph as build } from '../../src/graph/build-graph.ts';
import type { GraphEdge, GraphNode, StateCounts } from '../../src/graph/graph-types.ts';
import { readTree } from '../../src/graph/readable-tree.ts';
import { relationsOf as relations } from '../../src/graph/relations.ts';
import { countStates as count } from '../../src/graph/state-counts.ts';
import type { Graph } from '../../src/graph.ts';
import type { TaskRelation, TaskTree } from '../../src/model.ts';
import type { Steps } from '../../src/scheduler.ts';

/** Most nodes that any limit lists. */
const MOST = 20_000;

/** The part of a graph that a node limit lists. */
export interface LimitedGraph {
  readonly rootId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly counts: StateCounts;
  readonly isTruncated: boolean;
  readonly isComplete: boolean;
}

export function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function limited({ rootId, nodes, counts, isPartial, isComplete: isOver, shape }: Graph, limit: number) {
  return {
    rootId,
    nodes: nodes.slice(0, limit),
    edges: shape.edges.flatMap(({ limit: least, ...edge }) => (least <= limit ? [edge] : [])),
    counts,
    isTruncated: isPartial || shape.isCut || nodes.length > limit,
    isComplete: isOver,
  } satisfies LimitedGraph;
}

export function buildGraph(tree: TaskTree, askedId: string, limit: number): LimitedGraph {
  return limited(finish(build(tree, askedId, MOST)), limit);
}

export function relationsOf(tree: TaskTree): readonly TaskRelation[] {
  return finish(relations(finish(readTree(tree))));
}

/** Of the whole workflow, whichever of its tasks is asked for. */
export function isComplete(tree: TaskTree): boolean {
  return finish(build(tree, '', MOST)).isComplete;
}

export function countStates(states: Iterable<string>): StateCounts {
  return finish(count(states));
}
