import { contentOf } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { createWorkflowDocument } from './workflow.ts';

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
    return (asked) =>
      createWorkflowDocument(monitor, 'relations', asked, (tree) =>
        contentOf({
          task_id: asked.taskId,
          root_id: tree.rootId,
          relations: monitor.serializer.relations(tree),
        }),
      );
  },
});
