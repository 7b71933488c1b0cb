import { createHash } from 'node:crypto';
import { decodeCursor, encodeCursor, isForeignCursor, LONGEST_CURSOR } from '../cursor.ts';
import { MonitorError } from '../errors.ts';
import { contentOfList, type ListBody, readItems } from '../http/answer-body.ts';
import { createDocument, keyOf } from '../http/document.ts';
import type { Respond } from '../http/exchange.ts';
import { markersIn } from '../http/markers.ts';
import type { Monitor } from '../http/monitor.ts';
import { choice, cursor, integer, moment, text, texts, type ValuesOf } from '../http/parameter.ts';
import { type Asked, defineRoute, type Fault, SOURCE_ERRORS } from '../http/route.ts';
import { TASK_STATES, type Task } from '../model.ts';
import type { ReadResult } from '../read.ts';
import type { Steps } from '../scheduler.ts';
import { queryOfSource } from '../select/apply-query.ts';
import { summarizeTasks } from '../select.ts';
import { isTaskPage, isTaskPosition, TASK_SORTS } from '../source/task-query.ts';
import type {
  Awaitable,
  ReadContext,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSource,
  TaskStats,
  TaskStatsQuery,
} from '../source.ts';
import type { MarkerBody, TaskMatchBody } from '../wire.ts';
import {
  abilitiesOf,
  CONDITION_QUERY,
  conditionsOf,
  FILTER_NAMES,
  findConditionFaults,
  findStatsFaults,
  type ListAbilities,
  STATS_QUERY,
  statsWindowOf,
} from './task-parameters.ts';

const QUERY = {
  limit: integer('Maximum number of tasks per page; 0 is allowed only with `stats`.', {
    minimum: 0,
    maximum: 1_000,
    default: 100,
  }),
  cursor: cursor('`next_cursor` of the previous page of the same list.', decodeTaskCursor),
  state: texts(`Only tasks in this state: ${TASK_STATES.join(', ')}, or any other.`),
  engine_state: texts("Only tasks with this engine state, such as BullMQ's `delayed`."),
  name: texts('Only tasks with this name.'),
  worker: texts('Only tasks of the worker with this hostname.'),
  queue: texts('Only tasks of this queue.'),
  cause: texts('Only tasks that failed with this cause: `cause` of a task, or of `stats.causes`.'),
  root_id: text('Only tasks of the workflow with this root task.'),
  parent_id: text('Only tasks that this task sent.'),
  group_id: text('Only members of this group.'),
  ...CONDITION_QUERY,
  since: moment('Only tasks whose last change is at or after this time.'),
  until: moment('Only tasks whose last change is before this time.'),
  sort: choice('The field to sort by; tasks without a value come last.', TASK_SORTS, 'timestamp'),
  order: choice('The direction of sorting.', ['asc', 'desc'], 'desc'),
  ...STATS_QUERY,
};
type Values = ValuesOf<typeof QUERY>;

/** Parameters that change the list: a cursor is valid only for the values that it was issued with. */
const LIST = ['sort', 'order', ...FILTER_NAMES] as const satisfies readonly (keyof Values)[];

/** Figures change over time, even if the tasks do not. */
export const STATS_HOLD_MS = 1_000;

/** `GET /api/tasks/` */
export const tasks = defineRoute({
  name: 'tasks',
  path: '/api/tasks/',
  summary: 'Recent tasks, newest activity first',
  query: QUERY,
  body: 'TasksBody',
  errors: ['cursor_expired', ...SOURCE_ERRORS],
  cached: true,
  open(monitor) {
    const abilities = abilitiesOf(monitor.sources.tasks);
    return (asked, fault) => {
      const { values } = asked;
      const list = listNameOf(LIST.map((name) => values[name]));
      findFaults(asked, list, fault);
      findConditionFaults(values, asked.faulty, fault);
      findStatsFaults(values, asked.faulty, fault);
      abilities.check(values, fault);
      if (values.cursor === EXPIRED) return refuseExpired;
      const request: ListRequest = {
        monitor,
        asked,
        abilities,
        list,
        query: queryOf(values, monitor),
        key: keyOf('tasks', asked),
      };
      return values.stats === null ? listDocument(request) : statsDocument(request, values.stats);
    };
  },
});

/** One URL of the list. */
interface ListRequest {
  readonly monitor: Monitor;
  readonly asked: Asked<Values>;
  readonly abilities: ListAbilities;
  /** Names the list that the cursors belong to. */
  readonly list: string;
  readonly query: TaskQuery;
  readonly key: string;
}

/** Common to the documents with and without figures. */
function documentBase({ monitor, asked, key }: ListRequest) {
  const link = (next: string): string => linkTo(asked.pairs, next);
  return { part: monitor.sources.tasks, call: 'listTasks', key, link };
}

/** The list without figures. */
function listDocument(request: ListRequest): Respond {
  const { monitor, query } = request;
  return createDocument(monitor, {
    ...documentBase(request),
    read: (source, context) => listTasks(source, query, context),
    *content(page: TaskPage, sourceOf) {
      return yield* contentOfList(yield* listBody(request, page, sourceOf));
    },
  });
}

/** The list with figures over the last `minutes`. */
function statsDocument(request: ListRequest, minutes: number): Respond {
  const { monitor, query, asked } = request;
  const { values } = asked;
  return createDocument(monitor, {
    ...documentBase(request),
    // Async functions, so that neither of two failures is an unhandled rejection.
    read: (source, context, now) =>
      Promise.all([
        (async () => listTasks(source, query, context))(),
        (async () => {
          const window = statsWindowOf(values, minutes, now);
          return getTaskStats(source, { ...window, filter: query }, context);
        })(),
        monitor.markers(),
      ]),
    *content([page, stats, markers]: StatsRead, sourceOf, now) {
      const body = yield* listBody(request, page, sourceOf);
      const { stats_percentiles: percentiles, stats_callers: callers } = values;
      const figures = stats === null ? null : monitor.serializer.stats(stats, { percentiles, callers });
      if (stats !== null && figures === null) throw new TypeError('getTaskStats() returned no figures.');
      const shown = figures && {
        ...figures,
        markers: markersIn(markers, statsWindowOf(values, minutes, now)),
      };
      const after = `${body.after},"stats":${JSON.stringify(shown)}`;
      return yield* contentOfList({ ...body, after, changesAt: now + STATS_HOLD_MS });
    },
  });
}

type StatsRead = readonly [TaskPage, TaskStats | null, readonly MarkerBody[]];

/** The members `tasks`, `next_cursor`, `cursor_exact` and `total` of a response body. */
function* listBody(
  { monitor: { serializer }, asked, abilities, list, query }: ListRequest,
  page: TaskPage,
  sourceOf: ReadResult['sourceOf'],
): Steps<ListBody> {
  if (!isTaskPage(page)) throw new TypeError('listTasks() must return { tasks, next, total }.');
  const nextCursor = page.next === null ? null : encodeTaskCursor(list, page.next);
  const [q] = asked.values.q;
  const find = q === undefined ? null : serializer.finder(q.toLowerCase());
  const isExact = page.cursorExact !== false;
  const after =
    `],"next_cursor":${JSON.stringify(nextCursor)},"cursor_exact":${isExact},"total":${page.total}` +
    `,"capabilities":${JSON.stringify(abilities.body)}`;
  const { shown: rows, unreadable } = yield* readItems<Task, string>(
    page.tasks,
    query.limit,
    sourceOf,
    (task) => {
      const row = serializer.taskRowJson(task, sourceOf(task));
      return row === null || find === null ? row : withMatch(row, find(task));
    },
  );
  return { before: '"tasks":[', rows, after, generatedAt: true, nextCursor, unreadable };
}

/** The JSON of a row is shared by all searches, so the match is added to the text. */
function withMatch(row: string, match: TaskMatchBody | null): string {
  return `${row.slice(0, -1)},"match":${JSON.stringify(match)}}`;
}

/** Checks that involve several parameters. */
function findFaults({ values, faulty }: Asked<Values>, list: string, fault: Fault): void {
  if (values.limit === 0 && values.stats === null && !faulty.has('stats')) {
    fault('limit', 'Write a whole number from 1 to 1000; 0 is allowed only with stats.');
  }
  if (values.cursor === null || values.cursor === EXPIRED) return;
  if (values.cursor.list !== list && !LIST.some((name) => faulty.has(name))) {
    fault(
      'cursor',
      'Write a cursor of this list: a cursor is valid only for the sort, order and filters that it was issued for.',
    );
  } else if (!isTaskPosition(values.cursor.position, values.sort)) {
    fault('cursor', 'Write a cursor that the list has returned; this one was changed.');
  }
}

function refuseExpired(): never {
  throw new MonitorError('cursor_expired');
}

function queryOf(values: Values, { options, serializer }: Monitor): TaskQuery {
  return Object.freeze({
    limit: Math.min(values.limit, options.limits.page),
    after: values.cursor?.position ?? null,
    states: values.state,
    engineStates: values.engine_state,
    causes: values.cause,
    causeOf: serializer.causeOf,
    rootId: values.root_id,
    parentId: values.parent_id,
    groupId: values.group_id,
    ...conditionsOf(values),
    ...searchOf(values, serializer),
    since: values.since,
    until: values.until,
    sort: values.sort,
    order: values.order,
    scan: options.limits.scan,
  });
}

/** The searched texts, and the excluded ones. */
function searchOf({ q, not_q }: Values, serializer: Monitor['serializer']): Pick<TaskQuery, 'q' | 'search'> {
  if (q.length + not_q.length === 0) return { q: null, search: () => true };
  const all = q.map((text) => text.toLowerCase());
  const longest = all.reduce((best, text) => (text.length > best.length ? text : best), '');
  const none = not_q.map((text) => text.toLowerCase());
  return { q: longest, search: serializer.matcher(all, none) };
}

/** A relative link (RFC 8288) with the parameters of the request: valid wherever the router is mounted. */
function linkTo(pairs: Asked<Values>['pairs'], next: string): string {
  const query = new URLSearchParams(pairs.filter(([name]) => name !== 'cursor'));
  query.append('cursor', next);
  return `<?${query}>; rel="next"`;
}

/** Lists tasks; none if a condition on `source` excludes this source. */
function listTasks(source: TaskSource, query: TaskQuery, context: ReadContext): Awaitable<TaskPage> {
  const own = queryOfSource(source, query);
  return own === null ? { tasks: [], next: null, total: 0 } : source.listTasks(own, context);
}

/** Sums up tasks. @returns `null`: the source does not support it */
export function getTaskStats(
  source: TaskSource,
  query: TaskStatsQuery,
  context: ReadContext,
): Awaitable<TaskStats | null> {
  if (source.getTaskStats === undefined) return null;
  const filter = queryOfSource(source, query.filter);
  return filter === null ? summarizeTasks([], query) : source.getTaskStats({ ...query, filter }, context);
}

/** A position in a list of tasks, and the name of that list. */
interface TaskCursor {
  /** Name of the list, see {@link listNameOf}. */
  readonly list: string;
  readonly position: TaskPosition;
}

const CURSOR_KIND = 'tasks';
/** A cursor of another version of this library. */
const EXPIRED: TaskCursor = { list: '', position: { key: null, id: '' } };

/** A name for a list: a hash of sort, order and filters. */
function listNameOf(...criteria: readonly unknown[]): string {
  return createHash('sha1').update(JSON.stringify(criteria)).digest('base64url').slice(0, 12);
}

/**
 * Writes a cursor for clients.
 *
 * @throws TypeError for a position that no cursor has room for
 */
function encodeTaskCursor(list: string, { key, id, mark }: TaskPosition): string {
  const text = encodeCursor(CURSOR_KIND, mark === undefined ? [list, key, id] : [list, key, id, mark]);
  if (text.length <= LONGEST_CURSOR) return text;
  throw new TypeError(
    'listTasks() must return a position of at most 5,000 bytes: shorten its mark, or leave it out.',
  );
}

/** Parses a cursor; `null` when it is not valid. */
function decodeTaskCursor(text: string): TaskCursor | null {
  if (isForeignCursor(CURSOR_KIND, text)) return EXPIRED;
  const [list, key, id, mark, ...rest] = decodeCursor(CURSOR_KIND, text) ?? [];
  const position = { key, id, ...(mark !== undefined && { mark }) };
  if (typeof list !== 'string' || !isTaskPosition(position) || rest.length > 0) return null;
  return { list, position };
}
