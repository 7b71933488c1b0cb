/** Shared by the three routes of a task's workflow. */

import type { DocumentOptions } from '../http/answer.ts';
import { keyOf } from '../http/answer-key.ts';
import type { Monitor } from '../http/monitor.ts';
import { integer } from '../http/parameter.ts';
import type { Asked } from '../http/route.ts';
import type { TreeSource, Workflow } from '../http/workflow.ts';
import type { WorkflowQuestion } from '../http/workflows.ts';
import type { RouteName } from '../options.ts';

/** Parameters of the graph and of its updates. */
export const NODE_LIMIT = integer('Maximum number of nodes; the nearest relatives of the task are kept.', {
  minimum: 1,
  maximum: 20_000,
  default: 5_000,
});

/** The node limit of an answer: the requested one, but at most the host's. */
export function nodesFor({ options }: Monitor, asked: number): number {
  return Math.min(asked, options.limits.nodes);
}

/** Describes the answer to one URL from the workflow of its task. */
export function workflowDocument(
  monitor: Monitor,
  route: RouteName,
  asked: Asked<unknown>,
  answer: Pick<WorkflowQuestion, 'isAnyTask' | 'needs' | 'content'>,
): DocumentOptions<TreeSource, never> {
  const { taskId } = asked;
  const key = keyOf(route, asked);
  return {
    part: partWithTrees(monitor),
    key,
    make: (request, onLeave) => monitor.workflows.answer({ ...answer, ...request, taskId, key }, onLeave),
  };
}

/** The task source, if it has workflows. */
export function partWithTrees({ sources: { tasks } }: Monitor): TreeSource | undefined {
  return tasks?.getTaskTree === undefined ? undefined : (tasks as TreeSource);
}

/** How many nodes and edges of a workflow are listed within a node limit. */
export function listedIn({ view: { graph } }: Workflow, limit: number) {
  const { nodes, shape, isPartial } = graph;
  const nodeCount = Math.min(nodes.length, limit);
  return {
    nodeCount,
    edgeCount: shape.edgeCounts[nodeCount] ?? 0,
    isTruncated: isPartial || shape.isCut || nodes.length > limit,
  };
}
