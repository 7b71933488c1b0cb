import type { TaskDetail } from '../model.ts';
import { createDocument } from './document.ts';
import { draftOf } from './draft.ts';
import { keyOf } from './key.ts';
import { defineRoute, SOURCE_ERRORS } from './route.ts';

/** `GET /api/tasks/{task_id}/` */
export const task = defineRoute({
  name: 'task',
  path: '/api/tasks/{task_id}/',
  summary: 'One task with full values, its children and its timeline',
  query: {},
  body: 'TaskDetailBody',
  errors: ['task_not_found', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    const part = monitor.sources.tasks;
    return (asked) =>
      createDocument<TaskDetail | null>(monitor, {
        part,
        call: 'getTask',
        key: keyOf('task', asked),
        read: (context) => part?.getTask(asked.taskId, context) ?? null,
        draft(detail) {
          if (detail === null) return null;
          const body = monitor.serializer.taskDetail(detail, part?.name ?? '');
          if (body === null) throw new TypeError('getTask() must return a task with id and state, or null.');
          return draftOf(body);
        },
      });
  },
});
