import { keyOf } from '../http/answer-key.ts';
import { createDocument } from '../http/document.ts';
import { contentOf } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { TaskDetail } from '../model.ts';
import { linksOf } from './task-links.ts';

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
      createDocument(monitor, {
        part,
        call: 'getTask',
        key: keyOf('task', asked),
        read: (source, context) => source.getTask(asked.taskId, context),
        *content(detail: TaskDetail | null | undefined, sourceOf) {
          // A source that reads a Map may return undefined.
          if (detail === null || detail === undefined) return null;
          const body = monitor.serializer.taskDetail(detail, sourceOf(detail));
          if (body === null) throw new TypeError('getTask() must return a task with id and state, or null.');
          yield;
          return contentOf({ ...body, links: linksOf(monitor, body) });
        },
      });
  },
});
