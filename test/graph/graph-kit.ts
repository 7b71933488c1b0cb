/** The steps of graphs, run to their end at once. */

import {
  createGraphTracker,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type StateCounts,
} from '../../src/graph.ts';
import type { TaskRelation, TaskTree } from '../../src/model.ts';

/** Work that pauses after each of its steps. */
export type Steps<Result> = Generator<void, Result, void>;

/** The part of a graph that a node limit lists. */
export interface LimitedGraph {
  readonly rootId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly edgeCount: number | undefined;
  readonly counts: StateCounts;
  readonly isTruncated: boolean;
  readonly isComplete: boolean;
}

export function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** As it is first seen. */
function wholeGraph(tree: TaskTree, askedId: string, most?: number): Graph {
  return finish(createGraphTracker(most === undefined ? {} : { most }).observe(askedId, tree)).graph;
}

function limited({ rootId, nodes, counts, isPartial, isComplete: isOver, shape }: Graph, limit: number) {
  return {
    rootId,
    nodes: nodes.slice(0, limit),
    edges: shape.edges.flatMap(({ limit: least, ...edge }) => (least > limit ? [] : [edge])),
    edgeCount: shape.edgeCounts[Math.min(limit, nodes.length)],
    counts,
    isTruncated: isPartial || shape.isCut || nodes.length > limit,
    isComplete: isOver,
  } satisfies LimitedGraph;
}

/** @param most what the host allows at most */
export function buildGraph(tree: TaskTree, askedId: string, limit: number, most?: number): LimitedGraph {
  return limited(wholeGraph(tree, askedId, most), limit);
}

export function relationsOf(tree: TaskTree): readonly TaskRelation[] {
  return wholeGraph(tree, tree.rootId).shape.relations;
}

/** Of the whole workflow, whichever of its tasks is asked for. */
export function isComplete(tree: TaskTree): boolean {
  return wholeGraph(tree, '').isComplete;
}
