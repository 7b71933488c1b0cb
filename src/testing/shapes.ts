/**
 * The shape of every value that a source returns: the types of `model.ts` and `source.ts` as run-time checks,
 * for hosts that write JavaScript or fill the values from a database.
 */
import { STATUS_OF } from '../errors.ts';
import { isTraceId } from '../model.ts';
import {
  anything,
  boolean,
  callable,
  count,
  countsByName,
  date,
  filled,
  id,
  listOf,
  maybe,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  recordsOf,
  type Shape,
  shape,
  text,
} from './shape.ts';

const CAUSE_FIELDS = {
  id: filled,
  exception: nullable(text),
  message: nullable(text),
  frame: nullable(text),
};

/** Why a task failed. */
const taskCause = record(CAUSE_FIELDS);

/** The figures about causes in statistics: groups of failures. */
const CAUSE_FIGURES = {
  causes: optional(
    recordsOf({
      ...CAUSE_FIELDS,
      count,
      firstSeen: nullable(date),
      lastSeen: nullable(date),
      names: listOf(filled),
      workers: listOf(filled),
      sample: nullable(filled),
      isNew: nullable(boolean),
      activity: listOf(count),
    }),
  ),
  causesTruncated: optional(boolean),
};

/** The progress of a task. */
const progress = record({
  current: nullable(number),
  total: nullable(number),
  percent: nullable(shape('a number from 0 to 100', (value) => Number(value) >= 0 && Number(value) <= 100)),
  text: nullable(text),
});

/** Fields of a task's own page, in addition to its children and timeline. */
const DETAIL_FIELDS = {
  attempts: maybe(
    recordsOf({
      number: shape('a whole number from 1 on', (value) => Number.isSafeInteger(value) && Number(value) >= 1),
      started: nullable(date),
      finished: nullable(date),
      error: nullable(text),
    }),
  ),
  options: anything,
  log: maybe(record({ lines: listOf(text), total: count })),
  timeLimits: maybe(record({ soft: maybe(count), hard: maybe(count) })),
  ahead: maybe(count),
  waitsFor: maybe(record({ relation: oneOf('children', 'chord'), done: count, total: count })),
  traceId: maybe(shape('32 lowercase hexadecimal digits, not all 0', isTraceId)),
};

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
  flags: optional(
    listOf(oneOf('worker_lost', 'overdue', 'never_received', 'end_unseen', 'consequence', 'ran_twice')),
  ),
  cause: maybe(taskCause),
  truncated: optional(listOf(oneOf('args', 'kwargs', 'result', 'exception', 'traceback'))),
  kind: maybe(oneOf('map', 'starmap', 'chunks')),
  stamps: anything,
  redacted: optional(boolean),
};

const PERCENTILES = {
  runtimeP50: maybe(number),
  runtimeP95: maybe(number),
  runtimeP99: maybe(number),
  waitP50: maybe(number),
  waitP95: maybe(number),
  waitP99: maybe(number),
};
const CALLERS = maybe(recordsOf({ name: filled, count }));
const HISTOGRAM = recordsOf({ le: nullable(number), count });

/** What `getTaskStats` returns. */
const TASK_STATS: Shape = record({
  stepSeconds: shape('a number above zero', (value) => Number.isFinite(value) && Number(value) > 0),
  series: recordsOf({
    t: date,
    received: maybe(count),
    succeeded: maybe(count),
    failed: maybe(count),
    retried: maybe(count),
    ...PERCENTILES,
  }),
  totals: optional(
    record({
      since: maybe(date),
      received: nullable(count),
      succeeded: nullable(count),
      failed: nullable(count),
      retried: nullable(count),
      ...PERCENTILES,
    }),
  ),
  runtimeHistogram: optional(HISTOGRAM),
  waitHistogram: optional(HISTOGRAM),
  states: countsByName,
  names: recordsOf({
    name: filled,
    count: nullable(count),
    failed: count,
    lastFailedAt: maybe(date),
    runtimeP50: nullable(number),
    runtimeP95: nullable(number),
    waitP50: nullable(number),
    waitP95: nullable(number),
  }),
  workers: listOf(filled),
  queues: listOf(filled),
  callers: CALLERS,
  callees: CALLERS,
  ...CAUSE_FIGURES,
  computedFrom: optional(oneOf('tasks', 'rollups')),
  countedSince: maybe(date),
  queueDepths: optional(
    recordsOf({
      queue: filled,
      waiting: listOf(nullable(count)),
      oldestSeconds: listOf(nullable(number)),
      sent: optional(listOf(nullable(count))),
      received: optional(listOf(nullable(count))),
      growingSince: maybe(date),
      oldestAtLeast: optional(boolean),
    }),
  ),
});

const CHECK_FIELDS = { ok: nullable(boolean), error: maybe(filled) };

const task = record(TASK_FIELDS);
const position = record({
  key: nullable(
    shape('a number or a string', (value) => typeof value === 'string' || Number.isFinite(value)),
  ),
  id: text,
  mark: optional(text),
});

const GROUP = {
  count,
  since: nullable(number),
  states: listOf(filled),
  examples: listOf(id),
};

const RUNNING = recordsOf({
  id,
  name: nullable(text),
  worker: nullable(text),
  startedAt: number,
  state: optional(filled),
  queue: maybe(text),
});
const REPEATED_RUNS = recordsOf({ worker: nullable(text), startedAt: number, endedAt: nullable(number) });

const ACTIVITY = record({
  since: number,
  blind: nullable(text),
  counts: anything,
  open: record({
    running: RUNNING,
    isWhole: boolean,
    lost: recordsOf({
      ...GROUP,
      worker: nullable(filled),
      isWorkerOnline: boolean,
      isTakenOver: optional(boolean),
    }),
    overdue: nullable(record(GROUP)),
    missing: maybe(record(GROUP)),
    waiting: recordsOf({ ...GROUP, queue: filled }),
  }),
  workersPull: optional(boolean),
  silent: recordsOf({ hostname: filled, heardAt: number }),
  growing: optional(recordsOf({ queue: filled, since: number, from: count, waiting: count })),
  repeated: maybe(recordsOf({ id, name: nullable(text), runs: REPEATED_RUNS })),
  deaths: optional(recordsOf({ at: number, worker: nullable(text), running: RUNNING })),
  recent: optional(callable),
});

/** One check per returned value. */
export const SHAPES = {
  task,
  taskPage: record({
    tasks: listOf(task),
    next: nullable(position),
    total: nullable(count),
    cursorExact: optional(boolean),
    endAt: optional(callable),
  }),
  taskDetail: record({
    ...TASK_FIELDS,
    children: optional(listOf(id)),
    ...DETAIL_FIELDS,
    timeline: optional(
      recordsOf({
        state: filled,
        timestamp: nullable(date),
        worker: nullable(text),
        detail: nullable(text),
        retries: maybe(count),
      }),
    ),
  }),
  taskTree: record({
    rootId: id,
    tasks: listOf(task),
    relations: optional(recordsOf({ parent: nullable(id), child: id, relation: filled })),
    truncated: optional(boolean),
  }),
  taskStats: TASK_STATS,
  activity: ACTIVITY,
  figure: nullable(number),
  taskCounts: record({
    sent: count,
    received: count,
    started: count,
    succeeded: count,
    failed: count,
    retried: count,
    revoked: count,
    rejected: count,
  }),
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
    rateLimits: maybe(object),
  }),
  taskEventPage: record({
    events: recordsOf({
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
    lastRuns: maybe(recordsOf({ taskId: id, state: nullable(filled), at: date, runtime: maybe(number) })),
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
    concurrencyLimit: maybe(count),
    limiter: maybe(record({ taken: count, most: nullable(count), until: nullable(date) })),
    asOf: nullable(date),
  }),
  component: record({
    key: filled,
    name: filled,
    enabled: boolean,
    status: oneOf('up', 'down', 'disabled', 'unknown'),
    pid: maybe(count),
    url: maybe(text),
    config: maybe(object),
    redacted: optional(boolean),
    queues: optional(
      recordsOf({
        name: filled,
        waiting: nullable(count),
        reserved: nullable(count),
        consumers: nullable(count),
      }),
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
