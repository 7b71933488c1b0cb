import { contentOf } from '../http/answer-body.ts';
import { createDocument, keyOf } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { TaskDetail } from '../model.ts';
import type { LinkedTask } from '../options.ts';
import { wellFormed } from '../serialize/shown-values.ts';
import { isWebLink } from '../text.ts';
import { frozen, isRecord } from '../values.ts';
import type { TaskLinkBody } from '../wire.ts';
import { createWaitingReader, WAITING_HOLD_MS } from './waiting.ts';

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
    const waiting = createWaitingReader(monitor);
    return (asked) =>
      createDocument(monitor, {
        part,
        call: 'getTask',
        key: keyOf('task', asked),
        read: (source, context) => source.getTask(asked.taskId, context),
        prepare: (detail, sourceOf, now) => waiting.prepare(detail, sourceOf, now),
        *content(detail: TaskDetail | null | undefined, sourceOf, now) {
          // A source that reads a Map may return undefined.
          if (detail === null || detail === undefined) return null;
          const shown = monitor.serializer.taskDetail(detail, sourceOf(detail));
          if (shown === null) throw new TypeError('getTask() must return a task with id and state, or null.');
          yield;
          const body = { ...shown, waiting_for: waiting.bodyOf(detail, shown) };
          const content = contentOf({ ...body, links: linksOf(monitor, body) });
          // The answer depends on other tasks, too.
          return body.waiting_for === null ? content : { ...content, changesAt: now + WAITING_HOLD_MS };
        },
      });
  },
});

const MOST_LINKS = 10;
const LONGEST_TEXT = 200;

/** @param task as served; it gets frozen, since the host must not change the answer */
function linksOf({ options: { taskLinks }, report }: Monitor, task: LinkedTask): TaskLinkBody[] {
  if (taskLinks === null) return [];
  const context = { code: 'source_invalid', source: null, call: 'taskLinks' } as const;
  try {
    const given: unknown = taskLinks(frozen(task));
    if (!Array.isArray(given)) {
      // An unhandled rejection would end the host's process.
      new Promise((adopt) => adopt(given)).catch(() => {});
      throw new TypeError('taskLinks(task) must return an array of { text, url } at once, not a promise.');
    }
    const links = given.slice(0, MOST_LINKS).flatMap(linkOf);
    if (links.length < Math.min(given.length, MOST_LINKS)) {
      report(
        new TypeError(
          'taskLinks(task): a text is missing, or a url is not a path or an http(s) URL without a password.',
        ),
        context,
      );
    }
    return links;
  } catch (error) {
    report(error, context);
    return [];
  }
}

function linkOf(link: unknown): TaskLinkBody[] {
  if (!isRecord(link)) return [];
  const { text, url } = link;
  if (typeof text !== 'string' || text.trim() === '' || !isWebLink(url)) return [];
  return [{ text: wellFormed(text.slice(0, LONGEST_TEXT)), url: wellFormed(url) }];
}
