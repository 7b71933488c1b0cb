/** Jobs of BullMQ: anything in the keys of a real Redis. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/redact.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { detail, page, tree, walk } from '../../helpers/bullmq-read.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { redisMissing } from '../../helpers/redis-server.ts';
import { createBullmqLab, fieldText, TIME } from '../bullmq-lab.ts';
import { anyValue, number } from '../inputs.ts';
import { misfit } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/bullmq/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });
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
  // What else may be where a job should be, and whether a worker holds it.
  other: fc.constantFrom('hash', 'hash', 'hash', 'hash', 'lock', 'string', 'list', 'none'),
});
/** A place in a list, as a client may make one up. */
const place = fc.record({
  key: fc.oneof(number.filter(Number.isFinite), fc.constant(null)),
  id: fieldText,
  mark: fc.oneof(
    fieldText,
    misfit([['q', 'wait', 3]]).map((parts) => `set1${JSON.stringify(parts)}`),
    anyValue.map((value) => `set1${JSON.stringify(value)}`),
  ),
});
const JOBS = 100;

const lab = createBullmqLab();

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
  share: 245,
  covers: [
    ...files('jobs/job-hash', 'jobs/job-row', 'jobs/job-sets', 'jobs/job-loader', 'access/queue-reads'),
    ...files('walk/walk', 'walk/set-members', 'tasks/task-detail', 'tasks/task-tree', 'tasks/task-list'),
    'redis/replies.ts',
  ],
  missing: redisMissing,
  // A whole list is read from Redis: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.record({
    jobs: fc.array(hostileJob, { minLength: JOBS, maxLength: JOBS }),
    places: fc.array(place, { maxLength: 3 }),
  }),
  casesPerInput: JOBS,
  open: lab.open,
  close: lab.close,
  async check({ jobs, places }) {
    const sources = lab.sources();
    await lab.fill((pipe) => {
      pipe.hset('bull:q:good', GOOD).zadd('bull:q:completed', TIME + 2, 'good');
      for (const [index, { part, fields, score, tie, other }] of jobs.entries()) {
        const id = `j${index}`;
        const job = `bull:q:${id}`;
        if (other === 'string') pipe.set(job, 'text');
        else if (other === 'list') pipe.rpush(job, 'text');
        else if (other !== 'none')
          pipe.hset(job, { name: 'a', timestamp: TIME, ...Object.fromEntries(fields) });
        if (other === 'lock') pipe.set(`${job}:lock`, 'token');
        if (part === 'wait' || part === 'active') pipe.lpush(`bull:q:${part}`, id);
        else pipe.zadd(`bull:q:${part}`, score, id);
        const key = `${job}:${tie[0]}`;
        if (tie[0] === 'dependencies') pipe.sadd(key, tie[1]);
        else if (tie[0] === 'processed' || tie[0] === 'failed') pipe.hset(key, tie[1], 'x');
        else if (tie[0] === 'unsuccessful') pipe.zadd(key, 1, tie[1]);
        else if (tie[0] === 'logs') pipe.rpush(key, tie[1]);
      }
    });
    const rows = await walk(sources, { limit: 40 });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    for (const row of rows) {
      checkBody('TaskBody', serializer.taskRow(row, 'fuzz'));
      expect([row.id.startsWith('q:'), row.queue]).toEqual([true, 'q']);
      const { parentKey } = Object.fromEntries(jobs[Number(row.id.slice(3))]?.fields ?? []);
      if (parentKey === undefined || row.parentId == null) continue;
      // Half a character reads U+FFFD in Redis.
      expect(Buffer.from(parentKey).toString().endsWith(row.parentId)).toBe(true);
    }
    expect(rows.find(({ id }) => id === 'q:good')).toMatchObject({
      state: 'SUCCESS',
      name: 'good',
      args: '{"n":1}',
    });
    for (const { id } of rows.slice(0, 3)) {
      const own = await detail(sources, id);
      const shown = own && serializer.taskDetail(own, 'fuzz');
      checkBody('TaskDetailBody', { ...shown, waiting_for: null, links: [], sources: [] });
      expect((await tree(sources, id))?.tasks.some((task) => task.id === id)).toBe(true);
    }
    for (const after of places)
      for (const row of (await page(sources, { limit: 5, after })).tasks)
        expect(rows.map(({ id }) => id)).toContain(row.id);
  },
});
