import type { AnswerContent } from '../http/answer-entry.ts';
import { createDocument } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { contentOfParts } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import { rootIdOf, type Workflow } from '../http/workflow.ts';
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
        isAnyTask: true,
        needs: ({ view }) => ['relations', view.graph.shape.relations.length],
        content: (workflow) => contentFor(monitor, workflow, asked.taskId),
      });
      return createDocument(monitor, options);
    };
  },
});

function* contentFor({ serializer }: Monitor, workflow: Workflow, taskId: string): Steps<AnswerContent> {
  const { view, relations: listed } = workflow;
  const rootId = serializer.id(rootIdOf(workflow, taskId) ?? taskId);
  const ids = JSON.stringify({ task_id: taskId, root_id: rootId }).slice(0, -1);
  const shown = yield* listed.first(view.graph.shape.relations.length);
  return yield* contentOfParts({
    parts: [`${ids},"relations":[`, ...shown, '],'],
    around: () => ['', ''],
  });
}
