import { createHash, type Hash } from 'node:crypto';
import { keyOf } from '../http/answer-key.ts';
import { createDocument } from '../http/document.ts';
import { readItems } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { Worker } from '../model.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';
import type { WorkerBody } from '../wire.ts';

// Twice the maximum of a history.
const MOST_WORKERS = 10_000;

/** `GET /api/workers/` */
export const workers = defineRoute({
  name: 'workers',
  path: '/api/workers/',
  summary: 'Workers, by hostname',
  query: {},
  body: 'WorkersBody',
  errors: SOURCE_ERRORS,
  cached: true,
  open(monitor) {
    const part = monitor.sources.workers;
    const starts: StartCounts = new Map();
    return (asked) =>
      createDocument(monitor, {
        part,
        call: 'listWorkers',
        key: keyOf('workers', asked),
        read: (source, context) => source.listWorkers(context),
        *content(list, sourceOf, now) {
          const { shown, unreadable } = yield* readItems<Worker, WorkerBody>(
            list,
            MOST_WORKERS,
            sourceOf,
            (worker) => monitor.serializer.worker(worker, sourceOf(worker), new Date(now)),
          );
          const hash = createHash('sha1');
          const rows = yield* writeRows(yield* sortInSteps(shown, byHostname), starts, hash);
          const bytes = rows.reduce((sum, { head, tail }) => sum + head.length + tail.length, 0);
          return {
            unreadable,
            bytes,
            stable: hash.digest('base64url'),
            render(moment, sources) {
              const workerRows = rows.map((row) => `${row.head}${secondsSince(row, moment)}${row.tail}`);
              const generatedAt = new Date(moment).toISOString();
              return `{"workers":[${workerRows.join(',')}],"generated_at":"${generatedAt}","sources":${sources}}`;
            },
          };
        },
      });
  },
});

/**
 * A worker as JSON, before and after its `last_seen_seconds`: the age of a heartbeat changes all the time. It must
 * not change the ETag, and 10,000 workers are not written again because of it.
 */
interface WorkerRow {
  readonly head: string;
  readonly tail: string;
  /** Milliseconds since 1970. */
  readonly heartbeat: number | null;
}

/** By worker: how long it was up when it was last read, and how often that was less than before. */
type StartCounts = Map<string, { readonly uptime: number | null; readonly count: number }>;

const AGE = '"last_seen_seconds":';
/** Engines round the uptime, and their answers take time. */
const UPTIME_TOLERANCE_SECONDS = 2;

/** @param hash is given what the ETag covers: the rows without their ages, and how often each worker started anew */
function* writeRows(
  workerBodies: readonly WorkerBody[],
  starts: StartCounts,
  hash: Hash,
): Steps<WorkerRow[]> {
  const rows: WorkerRow[] = [];
  const before = new Map(starts);
  starts.clear();
  for (const body of workerBodies) {
    const text = JSON.stringify({ ...body, last_seen_seconds: null });
    // The first one is the member: in a value before it, the quotes would be escaped.
    const end = text.indexOf(`${AGE}null`) + AGE.length;
    const { last_heartbeat: heartbeat } = body;
    hash.update(JSON.stringify({ ...body, last_seen_seconds: null, uptime_seconds: null }));
    hash.update(String(startsOf(body, before, starts)));
    rows.push({
      head: text.slice(0, end),
      tail: text.slice(end + 'null'.length),
      heartbeat: heartbeat === null ? null : Date.parse(heartbeat),
    });
    yield;
  }
  return rows;
}

/** Counts the starts of a worker that were seen. A worker that is up for less time than before has started anew. */
function startsOf(
  { source, hostname, uptime_seconds: uptime }: WorkerBody,
  before: StartCounts,
  starts: StartCounts,
): number {
  const key = JSON.stringify([source, hostname]);
  const last = before.get(key);
  const isNew = uptime !== null && uptime + UPTIME_TOLERANCE_SECONDS < (last?.uptime ?? 0);
  const count = (last?.count ?? 0) + (isNew ? 1 : 0);
  starts.set(key, { uptime, count });
  return count;
}

function byHostname(a: WorkerBody, b: WorkerBody): number {
  return a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : 0;
}

/** Never negative, although clocks differ. */
function secondsSince({ heartbeat }: WorkerRow, moment: number): number | null {
  return heartbeat === null ? null : Math.max(0, Math.floor((moment - heartbeat) / 1_000));
}
