/**
 * The shape of every value that a source returns: the types of `model.ts` and `source.ts` as run-time checks,
 * for hosts that write JavaScript or fill the values from a database.
 */
import { STATUS_OF } from '../errors.ts';
import { taskCause } from './cause-shapes.ts';
import {
  anything,
  boolean,
  count,
  countsByName,
  date,
  filled,
  id,
  listOf,
  maybe,
  nullable,
  number,
  oneOf,
  optional,
  record,
  type Shape,
  shape,
  text,
} from './shape.ts';
import { TASK_STATS } from './stats-shape.ts';
import { DETAIL_FIELDS, progress } from './task-shapes.ts';

const TASK_FIELDS = {
  id,
  state: filled,
  engineState: maybe(filled),
  name: maybe(text),
  worker: maybe(text),
  queue: maybe(text),
  sent: maybe(date),
  received: maybe(date),
  started: maybe(date),
  finished: maybe(date),
  timestamp: maybe(date),
  runtime: maybe(number),
  runtimeSource: maybe(oneOf('engine', 'derived')),
  waitSeconds: maybe(number),
  args: anything,
  kwargs: anything,
  result: anything,
  exception: anything,
  traceback: anything,
  retries: maybe(count),
  progress: maybe(progress),
  eta: maybe(date),
  expires: maybe(date),
  parentId: maybe(id),
  rootId: maybe(id),
  groupId: maybe(id),
  chordId: maybe(id),
  flags: optional(listOf(oneOf('worker_lost', 'overdue', 'never_received', 'end_unseen', 'consequence'))),
  cause: maybe(taskCause),
  truncated: optional(listOf(oneOf('args', 'kwargs', 'result', 'exception', 'traceback'))),
  kind: maybe(oneOf('map', 'starmap', 'chunks')),
  stamps: anything,
  redacted: optional(boolean),
};

const CHECK_FIELDS = { ok: nullable(boolean), error: maybe(filled) };

const task = record(TASK_FIELDS);
const position = record({
  key: nullable(
    shape('a number or a string', (value) => typeof value === 'string' || Number.isFinite(value)),
  ),
  id: text,
  mark: optional(text),
});

/** One check per returned value. */
export const SHAPES = {
  task,
  taskPage: record({
    tasks: listOf(task),
    next: nullable(position),
    total: nullable(count),
    cursorExact: optional(boolean),
    endAt: optional(shape('a function', (value) => typeof value === 'function')),
  }),
  taskDetail: record({
    ...TASK_FIELDS,
    children: optional(listOf(id)),
    ...DETAIL_FIELDS,
    timeline: optional(
      listOf(
        record({
          state: filled,
          timestamp: nullable(date),
          worker: nullable(text),
          detail: nullable(text),
          retries: maybe(count),
        }),
      ),
    ),
  }),
  taskTree: record({
    rootId: id,
    tasks: listOf(task),
    relations: optional(listOf(record({ parent: nullable(id), child: id, relation: filled }))),
    truncated: optional(boolean),
  }),
  taskStats: TASK_STATS,
  worker: record({
    hostname: filled,
    status: oneOf('online', 'stale', 'offline'),
    lastHeartbeat: maybe(date),
    pid: maybe(count),
    pool: maybe(text),
    poolSize: maybe(count),
    concurrency: maybe(count),
    active: maybe(count),
    processed: maybe(count),
    registeredTasks: maybe(listOf(text)),
    queues: maybe(listOf(text)),
    software: maybe(text),
    loadAverage: maybe(listOf(number)),
    uptimeSeconds: maybe(number),
  }),
  taskEventPage: record({
    events: listOf(
      record({
        id,
        type: filled,
        task: maybe(text),
        taskId: maybe(id),
        state: maybe(filled),
        worker: maybe(text),
        timestamp: maybe(date),
        arrived: maybe(date),
        detail: maybe(text),
        redacted: optional(boolean),
      }),
    ),
    cursor: filled,
    gap: boolean,
  }),
  schedule: record({
    id,
    app: maybe(text),
    name: filled,
    task: maybe(text),
    schedule: maybe(text),
    enabled: maybe(boolean),
    args: anything,
    kwargs: anything,
    queue: maybe(text),
    timezone: maybe(text),
    lastRunAt: maybe(date),
    nextRunAt: maybe(date),
    totalRunCount: maybe(count),
    lastRuns: maybe(
      listOf(record({ taskId: id, state: nullable(filled), at: date, runtime: maybe(number) })),
    ),
    redacted: optional(boolean),
  }),
  queue: record({
    name: filled,
    waiting: nullable(count),
    reserved: maybe(count),
    consumers: nullable(count),
    oldestDueAt: nullable(date),
    engineStates: maybe(countsByName),
    isPaused: maybe(boolean),
    asOf: nullable(date),
  }),
  component: record({
    key: filled,
    name: filled,
    enabled: boolean,
    status: oneOf('up', 'down', 'disabled', 'unknown'),
    pid: maybe(count),
    url: maybe(text),
    config: maybe(shape('an object', (value) => typeof value === 'object' && !Array.isArray(value))),
    redacted: optional(boolean),
    queues: optional(
      listOf(
        record({
          name: filled,
          waiting: nullable(count),
          reserved: nullable(count),
          consumers: nullable(count),
        }),
      ),
    ),
  }),
  healthCheck: record(CHECK_FIELDS),
  workerHealthCheck: record({ ...CHECK_FIELDS, responding: listOf(filled), missing: listOf(filled) }),
  historyStats: record({
    tasks: count,
    workers: count,
    events: count,
    since: nullable(date),
    evicted: count,
    bytes: count,
    eventsReceived: count,
    dropped: count,
    lagSeconds: nullable(number),
  }),
  sourceName: shape(
    '1 to 64 of A-Z a-z 0-9 _ -',
    (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value),
  ),
  status: record({
    ok: boolean,
    asOf: nullable(date),
    error: maybe(oneOf(...Object.keys(STATUS_OF))),
    reason: maybe(text),
    revision: optional(
      shape('a string or a finite number', (value) => typeof value === 'string' || Number.isFinite(value)),
    ),
    changesAt: maybe(date),
  }),
} as const satisfies Readonly<Record<string, Shape>>;
