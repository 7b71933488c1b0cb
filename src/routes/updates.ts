import { buildGraph } from '../graph.ts';
import { type GraphSince, parseGraphCursor } from '../graph-updates.ts';
import { cursor } from './cursor.ts';
import { draftOf } from './draft.ts';
import { readMoment } from './moment.ts';
import { defineRoute, SOURCE_ERRORS } from './route.ts';
import { createWorkflowDocument, NODE_LIMIT } from './workflow.ts';

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
  open(monitor) {
    return (asked) =>
      createWorkflowDocument(monitor, 'updates', asked, (tree) => {
        const { taskId, values } = asked;
        const view = monitor.graphs.observe(taskId, values.limit, buildGraph(tree, taskId, values.limit));
        const parts = monitor.serializer.updates(view.graph, view.changesSince(values.since));
        const draft = draftOf({ cursor: view.cursor, ...parts }, { generatedAt: true });
        return {
          ...draft,
          render(moment, sources) {
            view.issue(moment);
            return draft.render(moment, sources);
          },
        };
      });
  },
});

function readSince(text: string): GraphSince | null {
  const place = parseGraphCursor(text);
  if (place !== null) return place;
  const time = readMoment(text);
  return time === null ? null : { time };
}
