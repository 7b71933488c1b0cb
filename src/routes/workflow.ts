/** Shared by the three routes of a task's workflow. */

import type { DocumentOptions } from '../http/answer.ts';
import type { AnswerContent } from '../http/answer-entry.ts';
import { keyOf } from '../http/answer-key.ts';
import { createDocument } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { integer } from '../http/parameter.ts';
import type { Asked, Respond } from '../http/route.ts';
import type { TaskTree } from '../model.ts';
import type { RouteName } from '../options.ts';
import type { TaskSource } from '../source.ts';

/** Parameters of the graph and of its updates. */
export const NODE_LIMIT = integer('Most nodes; the nearest relatives of the task come first.', {
  minimum: 1,
  maximum: 20_000,
  default: 5_000,
});

/** The node limit of an answer: the requested one, at most that of the host. */
export function nodesFor({ options }: Monitor, asked: number): number {
  return Math.min(asked, options.limits.nodes);
}

/** Describes the answer to one URL from the workflow of its task. */
export function workflowDocument(
  monitor: Monitor,
  route: RouteName,
  asked: Asked<unknown>,
  content: (tree: TaskTree) => AnswerContent,
): DocumentOptions<TreeSource, TaskTree | null | undefined> {
  return {
    part: partWithTrees(monitor),
    call: 'getTaskTree',
    key: keyOf(route, asked),
    read: (source, context) => source.getTaskTree(asked.taskId, context),
    content(tree) {
      // A source that reads a Map may return undefined.
      if (tree === null || tree === undefined) return null;
      if (!isTree(tree)) throw new TypeError('getTaskTree() must return { rootId, tasks }, or null.');
      return content(tree);
    },
  };
}

/** Creates the handler of one URL from the workflow of its task. */
export function createWorkflowDocument(
  monitor: Monitor,
  route: RouteName,
  asked: Asked<unknown>,
  content: (tree: TaskTree) => AnswerContent,
): Respond {
  return createDocument(monitor, workflowDocument(monitor, route, asked, content));
}

type TreeSource = TaskSource & Required<Pick<TaskSource, 'getTaskTree'>>;

/** The task source, if it has workflows. */
export function partWithTrees({ sources: { tasks } }: Monitor): TreeSource | undefined {
  return tasks?.getTaskTree === undefined ? undefined : (tasks as TreeSource);
}

function isTree(tree: unknown): tree is TaskTree {
  if (typeof tree !== 'object' || tree === null) return false;
  const { rootId, tasks, relations } = tree as Partial<Record<keyof TaskTree, unknown>>;
  return (
    typeof rootId === 'string' &&
    rootId !== '' &&
    Array.isArray(tasks) &&
    (relations === undefined || Array.isArray(relations))
  );
}
