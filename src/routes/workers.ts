import { keyOf } from '../http/answer-key.ts';
import { createDocument } from '../http/document.ts';
import { readItems } from '../http/response-body.ts';
import { defineRoute, SOURCE_ERRORS } from '../http/route.ts';
import type { Worker } from '../model.ts';
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
        content(list, sourceOf, now) {
          const { shown, unreadable } = readItems<Worker, WorkerBody>(
            list,
            MOST_WORKERS,
            sourceOf,
            (worker) => monitor.serializer.worker(worker, sourceOf(worker), new Date(now)),
          );
          shown.sort((a, b) => (a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : 0));
          return {
            unreadable,
            // The age of a heartbeat changes all the time, and must not change the ETag.
            stable: JSON.stringify(shown.map((row) => ({ ...row, last_seen_seconds: null }))),
            render(moment, sources) {
              const rows = shown.map((row) => ({ ...row, last_seen_seconds: secondsSince(row, moment) }));
              const generatedAt = new Date(moment).toISOString();
              return `{"workers":${JSON.stringify(rows)},"generated_at":"${generatedAt}","sources":${sources}}`;
            },
          };
        },
      });
  },
});

/** Never negative, although clocks differ. */
function secondsSince({ last_heartbeat: heartbeat }: WorkerBody, moment: number): number | null {
  return heartbeat === null ? null : Math.max(0, Math.floor((moment - Date.parse(heartbeat)) / 1_000));
}
