/** The three routes of a task's workflow: its relations, its graph, and what has changed in the graph since. */

import { type GraphSince, parseGraphCursor } from '../graph.ts';
import { type AnswerContent, contentOfParts } from '../http/answer-body.ts';
import { createDocument, createStreamedDocument, type DocumentOptions, keyOf } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { cursor, integer, readMoment } from '../http/parameter.ts';
import { type Asked, defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { rootIdOf, type TreeSource, type Workflow, type WorkflowQuestion } from '../http/workflows.ts';
import type { RouteName } from '../options.ts';
import type { Steps } from '../scheduler.ts';
import { toJson } from '../serialize.ts';

/** Parameters of the graph and of its updates. */
const NODE_LIMIT = integer('Maximum number of nodes; the nearest relatives of the task are kept.', {
  minimum: 1,
  maximum: 20_000,
  default: 5_000,
});

/** The node limit of an answer: the requested one, but at most the host's. */
function nodesFor({ options }: Monitor, asked: number): number {
  return Math.min(asked, options.limits.nodes);
}

/** Describes the answer to one URL from the workflow of its task. */
function workflowDocument(
  monitor: Monitor,
  route: RouteName,
  asked: Asked<unknown>,
  answer: Pick<WorkflowQuestion, 'needs' | 'content'>,
): DocumentOptions<TreeSource, never> {
  const { taskId } = asked;
  const key = keyOf(route, asked);
  // A graph begins with its task; the relations are the same for all tasks of a workflow.
  const isAnyTask = route === 'relations';
  return {
    part: partWithTrees(monitor),
    key,
    make: (request, onLeave) =>
      monitor.workflows.answer({ ...answer, ...request, taskId, isAnyTask, key }, onLeave),
  };
}

/** The task source, if it has workflows. */
function partWithTrees({ sources: { tasks } }: Monitor): TreeSource | undefined {
  return tasks?.getTaskTree === undefined ? undefined : (tasks as TreeSource);
}

/** How many nodes and edges of a workflow are listed within a node limit. */
function listedIn({ view: { graph } }: Workflow, limit: number) {
  const { nodes, shape, isPartial } = graph;
  const nodeCount = Math.min(nodes.length, limit);
  return {
    nodeCount,
    edgeCount: shape.edgeCounts[nodeCount] ?? 0,
    isTruncated: isPartial || shape.isCut || nodes.length > limit,
  };
}

/** `GET /api/tasks/{task_id}/graph/` */
export const graph = defineRoute({
  name: 'graph',
  path: '/api/tasks/{task_id}/graph/',
  summary: 'The workflow of a task as nodes and edges',
  query: { limit: NODE_LIMIT },
  body: 'GraphBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    return (asked) => {
      const limit = nodesFor(monitor, asked.values.limit);
      const options = workflowDocument(monitor, 'graph', asked, {
        needs: () => ['nodes', limit],
        content: (workflow) => contentFor(monitor, workflow, limit),
      });
      return createDocument(monitor, options);
    };
  },
});

function* contentFor({ serializer }: Monitor, workflow: Workflow, limit: number): Steps<AnswerContent> {
  const { view, nodes } = workflow;
  const { nodeCount, edgeCount, isTruncated } = listedIn(workflow, limit);
  const meta = JSON.stringify({
    root_id: serializer.id(view.graph.rootId),
    counts: serializer.counts(view.graph.counts),
    node_count: nodeCount,
    edge_count: edgeCount,
    truncated: isTruncated,
    cursor: view.cursor(limit),
  }).slice(1, -1);
  const shownNodes = yield* nodes.first(nodeCount);
  const { edges } = view.graph.shape;
  const listed = edgeCount === edges.length ? edges : edges.filter((edge) => edge.limit <= limit);
  const shownEdges = yield* toJson(listed, (edge) => JSON.stringify(serializer.graphEdge(edge)));
  return yield* contentOfParts({
    covers: meta,
    parts: ['"nodes":[', ...shownNodes, '],"edges":[', ...shownEdges, '],'],
    around(generatedAt) {
      view.issue(generatedAt, limit);
      return [`{"meta":{${meta},"generated_at":"${new Date(generatedAt).toISOString()}"},`, ''];
    },
  });
}

/** `GET /api/tasks/{task_id}/relations/` */
export const relations = defineRoute({
  name: 'relations',
  path: '/api/tasks/{task_id}/relations/',
  summary: 'Every relation in the workflow of a task',
  query: {},
  body: 'RelationsBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    return (asked) => {
      const options = workflowDocument(monitor, 'relations', asked, {
        needs: ({ view }) => ['relations', view.graph.shape.relations.length],
        content: (workflow) => relationsContent(monitor, workflow, asked.taskId),
      });
      return createDocument(monitor, options);
    };
  },
});

function* relationsContent(
  { serializer }: Monitor,
  workflow: Workflow,
  taskId: string,
): Steps<AnswerContent> {
  const rootId = serializer.id(rootIdOf(workflow, taskId) ?? taskId);
  const ids = JSON.stringify({ task_id: taskId, root_id: rootId }).slice(0, -1);
  const shown = yield* workflow.relations.first(workflow.view.graph.shape.relations.length);
  return yield* contentOfParts({
    parts: [`${ids},"relations":[`, ...shown, '],'],
    around: () => ['', ''],
  });
}

/** `GET /api/tasks/{task_id}/graph/updates/` */
export const updates = defineRoute({
  name: 'updates',
  path: '/api/tasks/{task_id}/graph/updates/',
  summary: 'What has changed in the workflow of a task',
  query: {
    since: cursor(
      'A `cursor` or a `generated_at` of an earlier answer: lists only what changed after it.',
      readSince,
    ),
    limit: NODE_LIMIT,
  },
  body: 'GraphUpdatesBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  streams: true,
  open(monitor) {
    return (asked) =>
      createStreamedDocument(monitor, 'updates', asked, readSince, (one) => documentOptions(monitor, one));
  },
});

interface Values {
  readonly since: GraphSince | null;
  readonly limit: number;
}

function documentOptions(monitor: Monitor, asked: Asked<Values>) {
  const limit = nodesFor(monitor, asked.values.limit);
  const { since } = asked.values;
  return workflowDocument(monitor, 'updates', asked, {
    needs({ view }) {
      const { nodes } = view.changesSince(since, limit);
      // Of a few changes, only these are written.
      return ['updates', nodes.length < Math.min(view.graph.nodes.length, limit) ? 0 : limit];
    },
    content: (workflow) => updatesContent(monitor, workflow, limit, since),
  });
}

function* updatesContent(
  { serializer }: Monitor,
  workflow: Workflow,
  limit: number,
  since: GraphSince | null,
): Steps<AnswerContent> {
  const { view, updates } = workflow;
  const { nodeCount, edgeCount } = listedIn(workflow, limit);
  const { nodes, topologyChanged } = view.changesSince(since, limit);
  const cursor = view.cursor(limit);
  // Everybody who gets all nodes gets the same JSON.
  const shown =
    nodes.length === nodeCount
      ? yield* updates.first(nodeCount)
      : yield* toJson(nodes, (node) => JSON.stringify(serializer.nodeUpdate(node)));
  const rest = JSON.stringify({
    meta_counts: serializer.counts(view.graph.counts),
    topology_changed: topologyChanged,
    node_count: nodeCount,
    edge_count: edgeCount,
    complete: view.graph.isComplete,
  }).slice(1, -1);
  return yield* contentOfParts({
    parts: [`{"cursor":"${cursor}","node_updates":[`, ...shown, `],${rest},`],
    position: { cursor, hasChanges: nodes.length > 0 || topologyChanged, gap: false, isFull: false },
    around(generatedAt) {
      view.issue(generatedAt, limit);
      return ['', `"generated_at":"${new Date(generatedAt).toISOString()}",`];
    },
  });
}

function readSince(text: string): GraphSince | null {
  const since = parseGraphCursor(text);
  if (since !== null) return since;
  const time = readMoment(text);
  return time === null ? null : { time };
}
