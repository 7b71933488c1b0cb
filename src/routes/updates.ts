import { type GraphSince, parseGraphCursor } from '../graph-updates.ts';
import { readAnswer } from '../http/answer.ts';
import type { AnswerContent } from '../http/answer-entry.ts';
import { keyOf } from '../http/answer-key.ts';
import { cursor } from '../http/cursor-parameter.ts';
import { createDocument } from '../http/document.ts';
import { readMoment } from '../http/moment-parameter.ts';
import type { Monitor } from '../http/monitor.ts';
import { contentOfParts } from '../http/response-body.ts';
import { type Asked, defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { streamable } from '../http/streamable.ts';
import type { Workflow } from '../http/workflow.ts';
import type { Steps } from '../scheduler.ts';
import { toJson } from '../serialize.ts';
import { listedIn, NODE_LIMIT, nodesFor, partWithTrees, workflowDocument } from './workflow.ts';

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
    return (asked) => {
      const answerSince = (since: GraphSince | null) =>
        documentOptions(monitor, { ...asked, values: { ...asked.values, since } });
      return streamable(monitor, createDocument(monitor, answerSince(asked.values.since)), {
        route: 'updates',
        part: partWithTrees(monitor),
        key: keyOf('updates', { ...asked, values: { ...asked.values, since: null } }),
        since: asked.values.since,
        readSince,
        read: (since, onLeave) => readAnswer(monitor, answerSince(since), onLeave),
      });
    };
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
    isAnyTask: false,
    needs(workflow) {
      const { nodeCount } = listedIn(workflow, limit);
      const { nodes } = workflow.view.changesSince(since, limit);
      return ['updates', nodes.length === nodeCount ? nodeCount : 0];
    },
    content: (workflow) => contentFor(monitor, workflow, limit, since),
  });
}

function* contentFor(
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
