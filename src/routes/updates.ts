import { type GraphSince, parseGraphCursor } from '../graph-updates.ts';
import { readAnswer } from '../http/answer.ts';
import { keyOf } from '../http/answer-key.ts';
import { cursor } from '../http/cursor-parameter.ts';
import { createDocument } from '../http/document.ts';
import { readMoment } from '../http/moment-parameter.ts';
import type { Monitor } from '../http/monitor.ts';
import { contentOf } from '../http/response-body.ts';
import { type Asked, defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { streamable } from '../http/streamable.ts';
import { NODE_LIMIT, nodesFor, partWithTrees, workflowDocument } from './workflow.ts';

/** `GET /api/tasks/{task_id}/graph/updates/` */
export const updates = defineRoute({
  name: 'updates',
  path: '/api/tasks/{task_id}/graph/updates/',
  summary: 'What has changed in the workflow of a task',
  query: {
    since: cursor(
      'A `cursor` or a `generated_at` of an answer before: only what changed after it.',
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
  const { taskId, values } = asked;
  return workflowDocument(monitor, 'updates', asked, (tree) => {
    const view = monitor.graphs.observe(taskId, nodesFor(monitor, values.limit), tree);
    const changes = view.changesSince(values.since);
    const content = contentOf(
      { cursor: view.cursor, ...monitor.serializer.updates(view.graph, changes) },
      {
        generatedAt: true,
        position: {
          cursor: view.cursor,
          hasChanges: changes.nodes.length > 0 || changes.topologyChanged,
          gap: false,
          isFull: false,
        },
      },
    );
    return {
      ...content,
      render(moment, sources) {
        view.issue(moment);
        return content.render(moment, sources);
      },
    };
  });
}

function readSince(text: string): GraphSince | null {
  const since = parseGraphCursor(text);
  if (since !== null) return since;
  const time = readMoment(text);
  return time === null ? null : { time };
}
