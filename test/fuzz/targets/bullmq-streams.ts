/** BullMQ's event streams, schedulers and clients, as Redis answers. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/redact.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { createQueueRef } from '../../../src/sources/bullmq/access/queue-ref.ts';
import {
  describeEntry,
  isComplete,
  jobIdOf,
  mayReturn,
} from '../../../src/sources/bullmq/events/event-item.ts';
import { readCursor, writeCursor } from '../../../src/sources/bullmq/events/feed-cursor.ts';
import { jobRunsOf } from '../../../src/sources/bullmq/events/job-runs.ts';
import { entriesOf, isStreamId } from '../../../src/sources/bullmq/events/stream-entry.ts';
import { entryOf, runRef } from '../../../src/sources/bullmq/schedules/schedule-entry.ts';
import { scheduleOf } from '../../../src/sources/bullmq/schedules/schedule-row.ts';
import { parseClientList } from '../../../src/sources/bullmq/workers/client-list.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { anyValue, number, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const TIME = 1_790_000_000_000;
const serializer = createSerializer({ redactor: createRedactor() });

const ENTRIES = [
  [`${TIME}-0`, ['event', 'added', 'jobId', '1', 'name', 'mail']],
  [`${TIME}-1`, ['event', 'waiting', 'jobId', '1', 'prev', 'active']],
  [`${TIME}-2`, ['event', 'active', 'jobId', '1', 'prev', 'waiting']],
  [`${TIME}-3`, ['event', 'completed', 'jobId', '1', 'returnvalue', '{"ok":true}', 'prev', 'active']],
  [`${TIME}-4`, ['event', 'failed', 'jobId', '2', 'failedReason', 'no', 'prev', 'active']],
  [`${TIME}-5`, ['event', 'delayed', 'jobId', '2', 'delay', '1790000000500']],
  [`${TIME}-6`, ['event', 'progress', 'jobId', '2', 'data', '50']],
  [`${TIME}-7`, ['event', 'drained']],
];
const EVENT_NAMES = ['added', 'waiting', 'active', 'completed', 'failed', 'delayed', 'duplicated', 'paused'];
const madeUp = fc
  .tuple(
    fc.oneof(
      fc.nat().map((n) => `${n}-${n}`),
      text,
    ),
    fc.constantFrom(...EVENT_NAMES),
    fc.array(fc.oneof(text, fc.constantFrom('jobId', 'prev', 'name', 'delay', 'failedReason')), {
      maxLength: 8,
    }),
  )
  .map(([id, name, rest]) => [id, ['event', name, 'jobId', 'a', ...rest]]);
const runs = fc.oneof(fc.array(fc.oneof(text, fc.constantFrom('1', '2', null)), { maxLength: 5 }), anyValue);

export const streamEntryTarget = defineTarget({
  name: 'BullMQ stream entries',
  share: 80,
  covers: ['stream-entry', 'event-item', 'job-runs', 'feed-cursor'].map(
    (file) => `sources/bullmq/events/${file}.ts`,
  ),
  inputs: fc.record({
    reply: fc.oneof(misfit([ENTRIES]), fc.array(madeUp, { maxLength: 4 }), anyValue),
    runs,
    lock: fc.constantFrom(0, 1, null),
    cursor: fc.oneof(text, mutated([writeCursor({ floor: TIME, read: new Map([['q', '1-0']]) })])),
  }),
  check({ reply, runs, lock, cursor }) {
    for (const entry of entriesOf(reply)) {
      expect([isStreamId(entry.id), Number.isFinite(entry.time), entry.size > 0]).toEqual([true, true, true]);
      isComplete(entry);
      mayReturn(entry);
      const { event, trace } = describeEntry('q', entry, undefined, jobRunsOf(runs, lock));
      if (event === null) continue;
      checkBody('EventBody', serializer.event(event));
      // Whatever else it says, it is of the job that it names.
      const job = jobIdOf(entry);
      expect(event.taskId ?? null).toBe(job === null ? null : `q:${job}`);
      if (job === null) expect(trace).toBeNull();
    }
    const place = readCursor(cursor);
    if (place !== null) expect(readCursor(writeCursor(place))).toEqual(place);
  },
});

const field = fc.oneof(
  text,
  number.map(String),
  fc.constantFrom(null, '30 2 * * *', 'Europe/Prague', '5000', '3'),
);
const KEYS = ['nightly', 'mail::::30 2 * * *', 'mail:1:1790000000000:UTC:5000', 'a'.repeat(32)];
const CLIENTS =
  'id=3 addr=127.0.0.1:50000 name=bull:bWFpbA== age=12 db=0 cmd=bzpopmin\nid=4 addr=[::1]:1 name= age=x\n';

export const schedulerTarget = defineTarget({
  name: 'BullMQ schedulers and clients',
  share: 60,
  covers: [
    ...['schedule-entry', 'schedule-row'].map((file) => `sources/bullmq/schedules/${file}.ts`),
    'sources/bullmq/workers/client-list.ts',
  ],
  inputs: fc.record({
    key: fc.oneof(fc.constantFrom(...KEYS), mutated(KEYS), text),
    reply: fc.oneof(fc.array(field, { minLength: 8, maxLength: 8 }), anyValue),
    due: fc.oneof(number, fc.constant(TIME)),
    options: fc.oneof(text, mutated(['{"repeat":{"count":3,"limit":5}}']), fc.constant(null)),
    clients: fc.oneof(mutated([CLIENTS]), anyValue),
  }),
  check({ key, reply, due, options, clients }) {
    for (const client of parseClientList(clients)) expect(client.name).not.toMatch(/[ \n]|^$/);
    const facts = key === '' ? null : entryOf(key, reply);
    if (facts === null) return;
    const ref = { queue: createQueueRef('q', 'bull', null as never), key, due };
    runRef(ref, facts);
    const value = options === null ? undefined : { text: options, isCut: false };
    for (const run of [null, { job: null, options: value, data: value }]) {
      const row = scheduleOf({ ref, facts, template: value, run }, TIME);
      checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
      expect(row.id).toBe(`q:${key}`);
    }
  },
});
