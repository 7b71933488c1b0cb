/** Event streams, schedulers and workers of BullMQ: anything in the keys and connections of a real Redis. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { bullmqSources } from '../../../src/bullmq.ts';
import { createRedactor } from '../../../src/redact.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { context } from '../../helpers/bullmq-read.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { redisMissing } from '../../helpers/redis-server.ts';
import { createBullmqLab, fieldText, TIME } from '../bullmq-lab.ts';
import { anyValue, number, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/bullmq/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });
const lab = createBullmqLab();

const NAMES = [
  ...['added', 'waiting', 'active', 'completed', 'failed', 'delayed', 'progress', 'duplicated', 'paused'],
  'drained',
];
const FIELDS = ['prev', 'name', 'delay', 'returnvalue', 'failedReason', 'data', 'jobId', 'event'];
/** An entry of a queue's stream: its event, its job, and other fields. */
const hostileEvent = fc.tuple(
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: text }),
  fc.oneof(fc.constantFrom('good', 'j1', 'j2', ''), text),
  fc.array(fc.tuple(fc.oneof(fc.constantFrom(...FIELDS), text), fieldText), { maxLength: 4 }),
);
const KEYS = ['nightly', 'mail::::30 2 * * *', `mail:1:${TIME}:UTC:5000`, 'a'.repeat(32)];
const OPTIONS = ['{"repeat":{"count":3,"limit":5}}', '{"attempts":3}'];
const PARTS = ['name', 'pattern', 'every', 'tz', 'startDate', 'endDate', 'limit', 'ic', 'data', 'opts'];
/** A job scheduler, or a repeatable job of before: its key, when it is due, and its fields. */
const hostileScheduler = fc.tuple(
  fc.oneof(fc.constantFrom(...KEYS), mutated(KEYS), text),
  fc.oneof(number, fc.constant(TIME)),
  fc.array(
    fc.tuple(
      fc.constantFrom(...PARTS),
      fc.oneof(fieldText, mutated(OPTIONS), fc.constantFrom('30 2 * * *', 'Europe/Prague', '5000')),
    ),
    { maxLength: 6 },
  ),
);
const CURSORS = [`feed1[${TIME},""]`, `feed1[${TIME},"0123456781790000000000-0"]`];
const cursor = fc.oneof(
  text,
  mutated(CURSORS),
  fc
    .oneof(misfit([[TIME, '0123456781790000000000-0']]), anyValue)
    .map((parts) => `feed1${JSON.stringify(parts)}`),
);
/** What a connection calls itself: workers of the queue `q` begin with `bull:cQ==`. Redis takes no blanks. */
const clientName = mutated(['bull:cQ==', 'bull:cQ==:w:worker', 'bull:b3RoZXI='])
  .map((name) => name.replace(/[^!-~]/g, ''))
  .filter((name) => name !== '');
const CLIENTS = 4;

const clients: Redis[] = [];

export const streamTarget = defineTarget({
  name: 'BullMQ streams, schedulers and workers',
  share: 140,
  covers: files(
    ...['events/stream-entry', 'events/job-machine', 'events/feed-items', 'events/event-feed'],
    ...['schedules/schedule-entry', 'schedules/schedules', 'workers/workers'],
  ),
  missing: redisMissing,
  // All of it is read from Redis: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.record({
    events: fc.array(hostileEvent, { minLength: 40, maxLength: 40 }),
    schedulers: fc.array(hostileScheduler, { minLength: 20, maxLength: 20 }),
    cursors: fc.array(cursor, { minLength: 6, maxLength: 6 }),
    names: fc.array(clientName, { minLength: CLIENTS, maxLength: CLIENTS }),
  }),
  casesPerInput: 70,
  async open() {
    await lab.open();
    for (let count = 0; count < CLIENTS; count += 1) clients.push(new Redis(lab.port(), '127.0.0.1'));
  },
  async close() {
    for (const client of clients.splice(0)) client.disconnect();
    await lab.close();
  },
  async check({ events, schedulers, cursors, names }) {
    // Streams are looked at once a second: another source has not seen those of the case before.
    const sources = bullmqSources({ connection: `redis://127.0.0.1:${lab.port()}` });
    const { events: feed, schedules, workers } = sources;
    await lab.fill((pipe) => {
      pipe.hset('bull:q:good', { name: 'good', timestamp: TIME, atm: 1, stc: 'x' });
      for (const [event, job, fields] of events)
        pipe.xadd('bull:q:events', '*', 'event', event, 'jobId', job, ...fields.flat());
      pipe.xadd(
        'bull:q:events',
        '*',
        'event',
        'completed',
        'jobId',
        'good',
        'returnvalue',
        '1',
        'prev',
        'active',
      );
      for (const [key, due, fields] of schedulers) {
        pipe.zadd('bull:q:repeat', due, key);
        pipe.hset(`bull:q:repeat:${key}`, { name: 'a', ...Object.fromEntries(fields) });
      }
      pipe
        .zadd('bull:q:repeat', TIME, 'good')
        .hset('bull:q:repeat:good', { name: 'good', every: '5000', ic: '3' });
    });
    for (const [at, name] of names.entries()) await clients[at]?.client('SETNAME', name);
    const wanted = { limit: 1_000, since: null, states: [], workers: [], tasks: [] };
    const all = await feed.listEvents(wanted, context);
    expect(new Set(all.events.map(({ id }) => id)).size).toBe(all.events.length);
    for (const event of all.events) checkBody('EventBody', serializer.event(event));
    expect(all.events.some(({ taskId, state }) => taskId === 'q:good' && state === 'SUCCESS')).toBe(true);
    for (const place of [all.cursor, ...cursors]) {
      const next = await feed.listEvents({ ...wanted, since: { cursor: place } }, context);
      // Wherever it began, all is read by then.
      const { events: news, gap } = await feed.listEvents(
        { ...wanted, since: { cursor: next.cursor } },
        context,
      );
      expect([news, gap]).toEqual([[], false]);
    }
    const rows = (await schedules.listSchedules(context)) ?? [];
    // One without a name is left out.
    for (const row of rows) if (row.name !== '') checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
    const keys = new Set(schedulers.map(([key]) => `q:${Buffer.from(key).toString()}`));
    for (const { id } of rows) expect(id === 'q:good' || keys.has(id), id).toBe(true);
    expect(rows.find(({ id }) => id === 'q:good')).toMatchObject({ name: 'good', totalRunCount: 3 });
    for (const worker of await workers.listWorkers(context))
      checkBody('WorkerBody', serializer.worker(worker, 'fuzz', new Date()));
    await sources.close();
  },
});
