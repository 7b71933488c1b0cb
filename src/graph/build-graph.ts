import type { TaskTree } from '../model.ts';
import type { Graph } from './graph-types.ts';

/**
 * Builds the graph of a workflow.
 *
 * @param tree as a source gives it; it may hold cycles, loose ends and unreadable tasks
 * @param askedId the task whose relatives come first
 * @param limit most nodes
 */
export function buildGraph(tree: TaskTree, askedId: string, limit: number): Graph {
  void askedId;
  void limit;
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  return {
    rootId: tree.rootId,
    nodes: [],
    edges: [],
    counts,
    isTruncated: false,
    isComplete: isComplete(tree),
  };
}

/** Whether every task of a workflow has ended. */
export function isComplete(tree: TaskTree): boolean {
  return tree.tasks.length > 0;
}
