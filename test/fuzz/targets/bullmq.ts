/** Jobs of BullMQ: replies of Redis through the readers, and hashes of anything in a real Redis. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../../src/bullmq.ts';
import { createRedactor } from '../../../src/redact.ts';
import { asCount, asFields, asScored, asTexts } from '../../../src/redis/replies.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { createQueueRef, splitJobKey, splitTaskId } from '../../../src/sources/bullmq/access/queue-ref.ts';
import { factsOf } from '../../../src/sources/bullmq/jobs/job-facts.ts';
import { fieldsToShow, knownJob, taskOf, tracesOf } from '../../../src/sources/bullmq/jobs/job-row.ts';
import { JOB_SETS } from '../../../src/sources/bullmq/jobs/job-sets.ts';
import { detail, tree, walk } from '../../helpers/bullmq-read.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { type RedisServer, redisMissing, startRedis, until } from '../../helpers/redis-server.ts';
import { anyValue, number, text } from '../inputs.ts';
import { mutated } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/bullmq/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });
const TIME = 1_790_000_000_000;

const JSONS = [
  '{"to":"a@b.c","n":[1,null]}',
  '"text"',
  'null',
  '["Error: no\\n    at a (b.js:1:2)","Error: again"]',
];
const fieldText = fc.oneof(
  text,
  number.map(String),
  mutated(JSONS),
  fc.constantFrom(String(TIME), '0', '', 'a:b:c'),
);
const reply = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.oneof(fieldText, fc.constant(null)), { minLength: 9, maxLength: 9 }) },
  { weight: 1, arbitrary: anyValue },
);

export const jobTarget = defineTarget({
  name: 'BullMQ job fields',
  share: 220,
  covers: [
    ...files('jobs/job-facts', 'jobs/job-row', 'jobs/job-sets', 'access/queue-ref'),
    'redis/replies.ts',
  ],
  inputs: fc.record({
    reply,
    set: fc.constantFrom(...JOB_SETS),
    score: fc.oneof(number, fc.constant(TIME * 4_096), fc.constant(null)),
    values: fc.tuple(fieldText, fieldText, fieldText),
    other: anyValue,
  }),
  check({ reply, set, score, values: [data, result, trace], other }) {
    for (const value of [reply, other]) {
      expect(asCount(value)).toBeGreaterThanOrEqual(0);
      asFields(value);
      asTexts(value);
      for (const scored of asScored(value)) expect(Number.isFinite(scored.score)).toBe(true);
    }
    const facts = factsOf(reply);
    if (facts === null) return;
    const key = splitJobKey(data, ['bull']);
    if (key !== null) expect(data.endsWith(`${key.prefix}:${key.queue}:${key.jobId}`)).toBe(true);
    splitTaskId(data);
    const queue = createQueueRef('q', 'bull', null as never);
    const entry = { queue, id: 'own', set, score: set.kind === 'sorted' ? score : null };
    const job = knownJob(entry, { facts, values: null, size: null });
    const text = (value: string) => ({ text: value, isCut: value.length % 2 === 0 });
    const values = {
      data: text(data),
      returnvalue: text(result),
      failedReason: text(result),
      stacktrace: text(trace),
    };
    const task = taskOf(job, { parentId: null, rootId: null }, values, TIME);
    checkBody('TaskBody', serializer.taskRow(task, 'fuzz'));
    expect([task.id, task.queue, fieldsToShow(job).length > 0]).toEqual(['q:own', 'q', true]);
    expect(tracesOf(values.stacktrace).every((line) => typeof line === 'string')).toBe(true);
  },
});

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
  ),
  missing: redisMissing,
  // A whole list is read from Redis: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.array(hostileJob, { minLength: JOBS, maxLength: JOBS }),
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
  async check(jobs) {
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
  },
});
