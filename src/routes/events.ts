import { decodeCursor, encodeCursor, isForeignCursor } from '../cursor.ts';
import { contentOfList, readItems } from '../http/answer-body.ts';
import { createStreamedDocument, type DocumentOptions, keyOf } from '../http/document.ts';
import type { Monitor } from '../http/monitor.ts';
import { cursor, integer, readMoment, texts, type ValuesOf } from '../http/parameter.ts';
import { type Asked, defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { TaskEvent } from '../model.ts';
import type { ReadResult } from '../read.ts';
import { partsOf } from '../source/combined-part.ts';
import { isTaskEventPage } from '../source/task-query.ts';
import type { TaskEventPage, TaskEventQuery, TaskEventSource } from '../source.ts';

const KIND = 'events';

const QUERY = {
  limit: integer('Maximum number of items.', { minimum: 1, maximum: 1_000, default: 50 }),
  since: cursor(
    'A `cursor` or a `generated_at` of an earlier answer: lists the oldest items after it.',
    readSince,
  ),
  newest: integer('Lists only the newest of these items, up to this number; `skipped` counts the others.', {
    minimum: 1,
    maximum: 1_000,
  }),
  gather: integer(
    'For a stream: combine the changes of this many milliseconds into one message. Default 250.',
    {
      minimum: 250,
      maximum: 60_000,
    },
  ),
  state: texts('Only items with this state.'),
  worker: texts('Only items of the worker with this hostname.'),
  task: texts('Only items of tasks with this name.'),
};

/** `GET /api/events/latest/` */
export const events = defineRoute({
  name: 'events',
  path: '/api/events/latest/',
  summary: 'The latest events of tasks and workers, newest first',
  query: QUERY,
  body: 'EventsBody',
  errors: SOURCE_ERRORS,
  cached: true,
  streams: true,
  open(monitor) {
    return (asked) =>
      createStreamedDocument(monitor, 'events', asked, readSince, (one) => documentOptions(monitor, one));
  },
});

function documentOptions(
  monitor: Monitor,
  asked: Asked<ValuesOf<typeof QUERY>>,
): DocumentOptions<TaskEventSource, TaskEventPage> {
  const query = queryOf(asked.values, monitor.options.limits.page);
  return {
    part: monitor.sources.events,
    call: 'listEvents',
    key: keyOf('events', asked),
    read: (source, context) => source.listEvents(query, context),
    *content(page, sourceOf) {
      if (!isTaskEventPage(page)) throw new TypeError('listEvents() must return { events, cursor, gap }.');
      const { events: list, gap } = cut(page, query);
      const { newest } = asked.values;
      const listed = newest === null ? list : list.slice(0, newest);
      const { shown: rows, unreadable } = yield* readItems<TaskEvent, string>(
        listed,
        query.limit,
        sourceOf,
        (event) => rowOf(monitor, event, sourceOf),
      );
      const nextSince = encodeCursor(KIND, [page.cursor]);
      return yield* contentOfList({
        before: '"events":[',
        rows,
        after: `],"cursor":${JSON.stringify(nextSince)},"gap":${gap},"skipped":${list.length - listed.length}`,
        generatedAt: true,
        unreadable,
        position: {
          cursor: nextSince,
          hasChanges: list.length > 0,
          gap,
          isFull: list.length >= query.limit,
        },
      });
    },
  };
}

/**
 * One item as JSON. With several sources, the id is prefixed with the name of its source: ids of two sources can
 * be equal.
 */
function rowOf(
  { sources: { events: part }, serializer }: Monitor,
  event: TaskEvent,
  sourceOf: ReadResult['sourceOf'],
): string | null {
  const body = serializer.event(event);
  if (body === null) return null;
  const isCombined = part !== undefined && partsOf(part).length > 1;
  return JSON.stringify(isCombined ? { ...body, id: `${sourceOf(event)}.${body.id}` } : body);
}

function readSince(text: string): TaskEventQuery['since'] {
  // No source knows the position: the feed continues with a gap.
  if (isForeignCursor(KIND, text)) return { cursor: '' };
  const [sourceCursor, ...rest] = decodeCursor(KIND, text) ?? [];
  if (typeof sourceCursor === 'string' && rest.length === 0) return { cursor: sourceCursor };
  const time = readMoment(text);
  return time === null ? null : { time };
}

function queryOf(values: ValuesOf<typeof QUERY>, most: number): TaskEventQuery {
  return Object.freeze({
    limit: Math.min(values.limit, most),
    since: values.since,
    states: values.state,
    workers: values.worker,
    tasks: values.task,
  });
}

/** Cuts a page with too many items. After `since` this is a gap: the cursor is after the omitted items. */
function cut({ events: list, gap }: TaskEventPage, { limit, since }: TaskEventQuery) {
  if (list.length <= limit || since === null) return { events: list, gap };
  return { events: list.slice(-limit), gap: true };
}
