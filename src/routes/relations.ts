import type { AnswerContent } from '../http/answer-entry.ts';
import { createDocument } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { contentOfParts } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { Workflow } from '../http/workflow-reads.ts';
import type { Steps } from '../scheduler.ts';
import { workflowDocument } from './workflow.ts';

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
        content: (workflow) => contentFor(monitor, workflow, asked.taskId),
      });
      return createDocument(monitor, options);
    };
  },
});

function* contentFor(
  { serializer }: Monitor,
  { view: { graph }, relations: listed }: Workflow,
  taskId: string,
): Steps<AnswerContent> {
  const ids = JSON.stringify({ task_id: taskId, root_id: serializer.id(graph.rootId) }).slice(0, -1);
  const shown = yield* listed.first(graph.shape.relations.length);
  return yield* contentOfParts({
    parts: [`${ids},"relations":[`, ...shown, '],'],
    around: () => ['', ''],
  });
}
