import { createHash, type Hash } from 'node:crypto';
import { type AnswerContent, contentOf, readItems, type Unreadable } from '../http/answer-body.ts';
import { type Answer, createAnswer, createDocument, keyOf } from '../http/document.ts';
import type { Respond } from '../http/exchange.ts';
import type { Monitor } from '../http/monitor.ts';
import { integer } from '../http/parameter.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { Worker } from '../model.ts';
import type { ReadResult } from '../read.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';
import { addTo, compareText } from '../values.ts';
import type { WorkerBody, WorkerCountsBody, WorkersBody } from '../wire.ts';
import { addRunning, createRunningReader, RUNNING_HOLD_MS, type RunningBySource } from './running-tasks.ts';

// Twice the maximum of a history.
const MOST_WORKERS = 10_000;

/** `GET /api/workers/` */
export const workers = defineRoute({
  name: 'workers',
  path: '/api/workers/',
  summary: 'Workers, by hostname',
  query: {
    running: integer(
      'Adds the tasks that run on each worker, the longest-running first, up to this number.',
      {
        minimum: 0,
        maximum: 100,
      },
    ),
  },
  body: 'WorkersBody',
  errors: SOURCE_ERRORS,
  cached: true,
  open(monitor) {
    const starts: StartCounts = { last: new Map() };
    const readRunning = createRunningReader(monitor);
    return (asked) => {
      const most = asked.values.running;
      const request: WorkersRequest = { monitor, key: keyOf('workers', asked), starts };
      return most === null ? plainDocument(request) : runningDocument(request, readRunning, most);
    };
  },
});

/** One URL of the list. */
interface WorkersRequest {
  readonly monitor: Monitor;
  readonly key: string;
  readonly starts: StartCounts;
}

function plainDocument(request: WorkersRequest): Respond {
  const { monitor, key } = request;
  return createDocument(monitor, {
    part: monitor.sources.workers,
    call: 'listWorkers',
    key,
    read: (source, context) => source.listWorkers(context),
    *content(list, sourceOf, now) {
      const { shown, unreadable } = yield* bodiesOfWorkers(request, list, sourceOf, now);
      return yield* contentOfWorkers(request, { workers: shown, unreadable });
    },
  });
}

/** The list with the tasks that run on each worker. */
function runningDocument(
  request: WorkersRequest,
  readRunning: () => Promise<RunningBySource>,
  most: number,
): Respond {
  const { monitor, key } = request;
  return createDocument(monitor, {
    part: monitor.sources.workers,
    call: 'listWorkers',
    key,
    // An async function, so that neither of two failures is an unhandled rejection.
    read: (source, context) => Promise.all([(async () => source.listWorkers(context))(), readRunning()]),
    *content([list, running], sourceOf, now) {
      const { shown, unreadable } = yield* bodiesOfWorkers(request, list, sourceOf, now);
      const { workers, unassigned } = yield* addRunning(monitor, shown, running, most, now);
      const content = yield* contentOfWorkers(request, { workers, unassigned, unreadable });
      return { ...content, changesAt: now + RUNNING_HOLD_MS };
    },
  });
}

/** Counts the workers of each source, for one URL. */
export function countWorkers(monitor: Monitor, key: string): Answer {
  return createAnswer(monitor, {
    part: monitor.sources.workers,
    call: 'listWorkers',
    key,
    read: (source, context) => source.listWorkers(context),
    *content(list, sourceOf, now) {
      const { shown, unreadable } = yield* bodiesOfWorkers({ monitor }, list, sourceOf, now);
      const bySource = new Map<string, WorkerBody[]>();
      for (const worker of shown) addTo(bySource, worker.source, worker);
      const workers = [...bySource].map(([source, own]) => countsOf(source, own));
      return { ...contentOf({ workers }), unreadable };
    },
  });
}

function countsOf(source: string, workers: readonly WorkerBody[]): WorkerCountsBody {
  const online = workers.filter(({ status }) => status === 'online');
  const slots = online.flatMap(({ concurrency }) => concurrency ?? []);
  const active = online.flatMap((worker) => worker.active ?? []);
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  return {
    source,
    total: workers.length,
    online: online.length,
    concurrency: slots.length === 0 ? null : sum(slots),
    active: active.length < online.length ? null : sum(active),
  };
}

function bodiesOfWorkers(
  { monitor: { serializer } }: Pick<WorkersRequest, 'monitor'>,
  list: unknown,
  sourceOf: ReadResult['sourceOf'],
  now: number,
) {
  return readItems<Worker, WorkerBody>(list, MOST_WORKERS, sourceOf, (worker) =>
    serializer.worker(worker, sourceOf(worker), new Date(now)),
  );
}

/** The contents of a body. */
interface Listed extends Pick<WorkersBody, 'workers' | 'unassigned'> {
  readonly unreadable: Unreadable;
}

function* contentOfWorkers(
  { starts }: WorkersRequest,
  { workers: listed, unassigned, unreadable }: Listed,
): Steps<AnswerContent> {
  const hash = createHash('sha1');
  const rows = yield* writeRows(yield* sortInSteps(listed, byHostname), starts, hash);
  const others = unassigned === undefined ? '' : `"unassigned":${JSON.stringify(unassigned)},`;
  hash.update(others);
  return {
    unreadable,
    bytes: rows.reduce((sum, { head, tail }) => sum + head.length + tail.length, others.length),
    stable: hash.digest('base64url'),
    render(moment, sources) {
      const workerRows = rows.map((row) => `${row.head}${secondsSince(row, moment)}${row.tail}`);
      const generatedAt = new Date(moment).toISOString();
      return `{"workers":[${workerRows.join(',')}],${others}"generated_at":"${generatedAt}","sources":${sources}}`;
    },
  };
}

/**
 * A worker as JSON, before and after its `last_seen_seconds`. The age of a heartbeat changes all the time: it must
 * not change the ETag, and must not cause 10,000 workers to be written again.
 */
interface WorkerRow {
  readonly head: string;
  readonly tail: string;
  /** Milliseconds since 1970. */
  readonly heartbeat: number | null;
}

/** By worker: the uptime when it was last read, and how often the uptime was shorter than before. */
interface StartCounts {
  last: ReadonlyMap<string, StartCount>;
}

interface StartCount {
  readonly uptime: number | null;
  readonly count: number;
}

const AGE = '"last_seen_seconds":';
/** Engines round the uptime, and their answers are delayed. */
const UPTIME_TOLERANCE_SECONDS = 2;

/** @param hash gets what the ETag covers: the rows without their ages, and the restarts of each worker */
function* writeRows(
  workerBodies: readonly WorkerBody[],
  starts: StartCounts,
  hash: Hash,
): Steps<WorkerRow[]> {
  const rows: WorkerRow[] = [];
  const counts = new Map<string, StartCount>();
  for (const body of workerBodies) {
    const text = JSON.stringify({ ...body, last_seen_seconds: null });
    // The first match is the member: in a value before it, the quotes would be escaped.
    const end = text.indexOf(`${AGE}null`) + AGE.length;
    const { last_heartbeat: heartbeat } = body;
    hash.update(JSON.stringify({ ...body, last_seen_seconds: null, uptime_seconds: null }));
    hash.update(String(startsOf(body, starts.last, counts)));
    rows.push({
      head: text.slice(0, end),
      tail: text.slice(end + 'null'.length),
      heartbeat: heartbeat === null ? null : Date.parse(heartbeat),
    });
    yield;
  }
  // Set at once: lists with and without running tasks may be written at the same time.
  starts.last = counts;
  return rows;
}

/** Counts the observed restarts of a worker: an uptime that is shorter than before means a restart. */
function startsOf(
  { source, hostname, uptime_seconds: uptime }: WorkerBody,
  before: StartCounts['last'],
  counts: Map<string, StartCount>,
): number {
  const key = JSON.stringify([source, hostname]);
  const last = before.get(key);
  const isNew = uptime !== null && uptime + UPTIME_TOLERANCE_SECONDS < (last?.uptime ?? 0);
  const count = (last?.count ?? 0) + (isNew ? 1 : 0);
  counts.set(key, { uptime, count });
  return count;
}

function byHostname(a: WorkerBody, b: WorkerBody): number {
  return compareText(a.hostname, b.hostname);
}

/** Never negative, even if clocks differ. */
function secondsSince({ heartbeat }: WorkerRow, moment: number): number | null {
  return heartbeat === null ? null : Math.max(0, Math.floor((moment - heartbeat) / 1_000));
}
