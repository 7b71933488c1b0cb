import { createHash } from 'node:crypto';
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
          const rows = yield* writeRows(yield* sortInSteps(shown, byHostname));
          const hash = createHash('sha1');
          let bytes = 0;
          for (const { head, tail } of rows) {
            hash.update(head).update(tail);
            bytes += head.length + tail.length;
            yield;
          }
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

const AGE = '"last_seen_seconds":';

function* writeRows(workerBodies: readonly WorkerBody[]): Steps<WorkerRow[]> {
  const rows: WorkerRow[] = [];
  for (const body of workerBodies) {
    const text = JSON.stringify({ ...body, last_seen_seconds: null });
    // The first one is the member: in a value before it, the quotes would be escaped.
    const end = text.indexOf(`${AGE}null`) + AGE.length;
    const { last_heartbeat: heartbeat } = body;
    rows.push({
      head: text.slice(0, end),
      tail: text.slice(end + 'null'.length),
      heartbeat: heartbeat === null ? null : Date.parse(heartbeat),
    });
    yield;
  }
  return rows;
}

function byHostname(a: WorkerBody, b: WorkerBody): number {
  return a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : 0;
}

/** Never negative, although clocks differ. */
function secondsSince({ heartbeat }: WorkerRow, moment: number): number | null {
  return heartbeat === null ? null : Math.max(0, Math.floor((moment - heartbeat) / 1_000));
}
