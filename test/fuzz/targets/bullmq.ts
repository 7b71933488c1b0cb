/** Jobs, events and schedulers of BullMQ: anything in the keys of a real Redis. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../../src/bullmq.ts';
import { createRedactor } from '../../../src/redact.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { context, detail, tree, walk } from '../../helpers/bullmq-read.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { type RedisServer, redisMissing, startRedis, until } from '../../helpers/redis-server.ts';
import { number, text } from '../inputs.ts';
import { mutated } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/bullmq/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });
/** Of every job, in milliseconds. */
export const TIME = 1_790_000_000_000;

const JSONS = [
  '{"to":"a@b.c","n":[1,null]}',
  '"text"',
  'null',
  '["Error: no\\n    at a (b.js:1:2)","Error: again"]',
];
/** What a field of a job may hold. */
export const fieldText = fc.oneof(
  text,
  number.map(String),
  mutated(JSONS),
  fc.constantFrom(String(TIME), '0', '', 'a:b:c'),
);
const FIELDS = [
  ...[
    'name',
    'data',
    'opts',
    'timestamp',
    'processedOn',
    'finishedOn',
    'delay',
    'atm',
    'attemptsMade',
    'stc',
  ],
  ...['parentKey', 'parent', 'pb', 'returnvalue', 'failedReason', 'stacktrace', 'rjk'],
];
const PARTS = [
  'wait',
  'active',
  'completed',
  'failed',
  'delayed',
  'prioritized',
  'waiting-children',
] as const;
const hostileJob = fc.record({
  part: fc.constantFrom(...PARTS),
  fields: fc.array(fc.tuple(fc.constantFrom(...FIELDS), fieldText), { maxLength: 5 }),
  score: fc.oneof(number, fc.constant(TIME * 4_096)),
  tie: fc.tuple(
    fc.constantFrom('dependencies', 'processed', 'failed', 'unsuccessful', 'logs', 'none'),
    fieldText,
  ),
});
const JOBS = 100;

const EVENTS = [
  'added',
  'waiting',
  'active',
  'completed',
  'failed',
  'delayed',
  'progress',
  'paused',
  'drained',
];
/** An entry of a queue's stream: its event, its job, and other fields. */
const hostileEvent = fc.tuple(
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...EVENTS) }, { weight: 1, arbitrary: text }),
  fc.oneof(fc.constantFrom('good', 'j1', 'j2', ''), text),
  fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('prev', 'name', 'delay', 'returnvalue', 'failedReason', 'data'), text),
      fieldText,
    ),
    { maxLength: 4 },
  ),
);
/** A job scheduler, or a repeatable job of before: its key, when it is due, and its fields. */
const hostileScheduler = fc.tuple(
  fc.oneof(fc.constantFrom('mail::::30 2 * * *', `mail:1:${TIME}:UTC:5000`, 'a'.repeat(32)), text),
  fc.oneof(number, fc.constant(TIME)),
  fc.array(
    fc.tuple(
      fc.constantFrom(
        'name',
        'pattern',
        'every',
        'tz',
        'startDate',
        'endDate',
        'limit',
        'ic',
        'data',
        'opts',
      ),
      fc.oneof(fieldText, fc.constantFrom('30 2 * * *', 'Europe/Prague', '5000', '{"repeat":{"count":3}}')),
    ),
    { maxLength: 6 },
  ),
);

let server: RedisServer | null = null;
let redis: Redis | null = null;
let sources: BullMQSources | null = null;

function opened(): { readonly redis: Redis; readonly sources: BullMQSources } {
  if (redis === null || sources === null) throw new Error('The target is not open.');
  return { redis, sources };
}

const GOOD = {
  name: 'good',
  data: '{"n":1}',
  timestamp: TIME,
  processedOn: TIME + 1,
  finishedOn: TIME + 2,
  atm: 1,
};

export const bullmqTarget = defineTarget({
  name: 'BullMQ hashes in Redis',
  share: 25,
  covers: files(
    'jobs/job-loader',
    'jobs/job-family',
    'jobs/job-values',
    'jobs/find-jobs',
    'tasks/task-detail',
    'tasks/task-tree',
    'tasks/task-list',
    'events/stream-entry',
    'events/event-item',
    'schedules/schedule-entry',
    'schedules/schedule-row',
  ),
  missing: redisMissing,
  // A whole list is read from Redis: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.record({
    jobs: fc.array(hostileJob, { minLength: JOBS, maxLength: JOBS }),
    events: fc.array(hostileEvent, { maxLength: 20 }),
    schedulers: fc.array(hostileScheduler, { maxLength: 10 }),
  }),
  casesPerInput: JOBS,
  async open() {
    server = await startRedis();
    redis = new Redis(server.port);
    sources = bullmqSources({ connection: server.url() });
    const source = sources;
    await redis.hset('bull:q:meta', 'version', 'bullmq:6.7.0');
    await until(() => source.tasks.status?.().ok === true);
  },
  async close() {
    await sources?.close();
    redis?.disconnect();
    await server?.close();
  },
  async check({ jobs, events, schedulers }) {
    const { redis, sources } = opened();
    const pipe = redis.pipeline().flushall().hset('bull:q:meta', 'version', 'bullmq:6.7.0');
    pipe.hset('bull:q:good', GOOD).zadd('bull:q:completed', TIME + 2, 'good');
    for (const [index, { part, fields, score, tie }] of jobs.entries()) {
      const id = `j${index}`;
      pipe.hset(`bull:q:${id}`, { name: 'a', timestamp: TIME, ...Object.fromEntries(fields) });
      if (part === 'wait' || part === 'active') pipe.lpush(`bull:q:${part}`, id);
      else pipe.zadd(`bull:q:${part}`, score, id);
      const key = `bull:q:${id}:${tie[0]}`;
      if (tie[0] === 'dependencies') pipe.sadd(key, tie[1]);
      else if (tie[0] === 'processed' || tie[0] === 'failed') pipe.hset(key, tie[1], 'x');
      else if (tie[0] === 'unsuccessful') pipe.zadd(key, 1, tie[1]);
      else if (tie[0] === 'logs') pipe.rpush(key, tie[1]);
    }
    for (const [event, job, fields] of events)
      pipe.xadd('bull:q:events', '*', 'event', event, 'jobId', job, ...fields.flat());
    for (const [key, due, fields] of schedulers) {
      pipe.zadd('bull:q:repeat', due, key);
      pipe.hset(`bull:q:repeat:${key}`, { name: 'a', ...Object.fromEntries(fields) });
    }
    const failed = ((await pipe.exec()) ?? []).flatMap(([error]) => error?.message ?? []);
    expect(failed).toEqual([]);
    const rows = await walk(sources, { limit: 40 });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    for (const row of rows) checkBody('TaskBody', serializer.taskRow(row, 'fuzz'));
    expect(rows.find(({ id }) => id === 'q:good')).toMatchObject({
      state: 'SUCCESS',
      name: 'good',
      args: '{"n":1}',
    });
    for (const { id } of rows.slice(0, 3)) {
      const own = await detail(sources, id);
      checkBody('TaskDetailBody', { ...(own && serializer.taskDetail(own, 'fuzz')), links: [], sources: [] });
      expect((await tree(sources, id))?.tasks.some((task) => task.id === id)).toBe(true);
    }
    const wanted = { limit: 1_000, since: null, states: [], workers: [], tasks: [] };
    const feed = await sources.events.listEvents(wanted, context);
    for (const event of feed.events) checkBody('EventBody', serializer.event(event));
    // One without a name is left out.
    for (const row of (await sources.schedules.listSchedules(context)) ?? [])
      if (row.name !== '') checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
  },
});
