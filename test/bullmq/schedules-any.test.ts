import type * as BullMQ from 'bullmq';
import * as bullmq5 from 'bullmq5';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { schedulesOf } from './schedules-lab.ts';
import { useSourceRedis } from './source-redis.ts';

const HOUR = 3_600_000;
/** In the year 2100. */
/** How many entries one answer has. */
const MOST_ENTRIES = 5_000;
const LATER = 4_102_444_800_000;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'repeatable jobs of BullMQ 5'), () => {
  let app: BullMQApp;
  let queue: bullmq5.Queue;
  let sources: BullMQSources;

  beforeEach(async () => {
    app = await startBullMQ(bullmq5 as unknown as typeof BullMQ);
    queue = app.queue('old') as unknown as bullmq5.Queue;
    await queue.waitUntilReady();
    sources = bullmqSources({ queues: [queue] });
  });

  afterEach(async () => {
    sources.close();
    await app.close();
  });

  it('are told as BullMQ tells them, with the data of their next job', async () => {
    await queue.add('tidy', { deep: ['x'] }, { repeat: { every: HOUR } });
    await queue.add('mail', { to: 'ann' }, { repeat: { pattern: '0 7 * * 1', tz: 'Europe/Prague' } });
    await queue.add(
      'mail',
      { to: 'bob' },
      { repeat: { pattern: '0 8 * * 1', key: 'of bob', endDate: LATER } },
    );
    await queue.add('late', {}, { repeat: { every: HOUR, key: 'with:three:colons:in:it' } });
    const told = await queue.getRepeatableJobs();
    const rows = await schedulesOf(sources);
    expect(rows.length).toBe(4);
    for (const { key, name, next, tz } of told) {
      expect(rows.find(({ id }) => id === `old:${key}`)).toMatchObject({
        task: name,
        enabled: true,
        timezone: tz,
        nextRunAt: new Date(next as number),
        lastRunAt: null,
        totalRunCount: null,
      });
    }
    expect(rows.map(({ name, schedule, args }) => [name, schedule, args])).toEqual([
      ['mail', '0 7 * * 1', '{"to":"ann"}'],
      ['of bob', '0 8 * * 1 (until 2100-01-01T00:00:00.000Z)', '{"to":"bob"}'],
      ['tidy', 'every 1 h', '{"deep":["x"]}'],
      // The id of its job is a hash of more than is known.
      ['with:three:colons:in:it', 'every 1 h', null],
    ]);
  });

  it('tell their last and next run, and are over once their runs are used up', async () => {
    await queue.add('thrice', {}, { repeat: { every: 200, limit: 3 } });
    await queue.add('fast', {}, { repeat: { every: 200 } });
    const worker = app.worker('old', async () => {});
    const row = async (name: string) => (await schedulesOf(sources)).find((one) => one.name === name);
    await until(async () => (await row('thrice'))?.enabled === false);
    await until(async () => (await row('fast'))?.lastRunAt != null);
    await worker.close();
    const completed = await queue.getJobs(['completed']);
    const lastRun = (name: string) =>
      Math.max(...completed.filter((job) => job.name === name).map(({ processedOn }) => Number(processedOn)));
    expect(await row('thrice')).toMatchObject({ nextRunAt: null, lastRunAt: new Date(lastRun('thrice')) });
    const fast = await row('fast');
    expect(Number(fast?.lastRunAt)).toBeGreaterThanOrEqual(lastRun('fast'));
    const told = (await queue.getRepeatableJobs()).find(({ name }) => name === 'fast');
    expect(fast).toMatchObject({ enabled: true, nextRunAt: new Date(told?.next as number) });
  }, 60_000);
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'entries that hold anything'), () => {
  const on = useSourceRedis('q');

  it('of BullMQ 3 and older, whose keys say it all, are read as BullMQ 5 reads them', async () => {
    const keys = [
      `mail::${LATER}:Europe/Prague:0 7 * * 1`,
      'tidy:my id:::60000',
      'nothing',
      'a:b:c:d:e f',
      'a:b::',
      '::::',
    ];
    for (const key of keys) await on.redis.zadd('bull:q:repeat', LATER, key);
    const rows = await schedulesOf(on.sources);
    expect(rows).toMatchObject([
      {
        id: `q:${keys[0]}`,
        name: 'mail',
        task: 'mail',
        schedule: '0 7 * * 1 (until 2100-01-01T00:00:00.000Z)',
        timezone: 'Europe/Prague',
        nextRunAt: new Date(LATER),
        totalRunCount: null,
      },
      { id: `q:${keys[1]}`, name: 'tidy', schedule: 'every 1 min', timezone: null },
    ]);
    const queue = new bullmq5.Queue('q', { connection: { host: '127.0.0.1', port: on.server.port } });
    const told = await queue.getRepeatableJobs();
    expect(told.find(({ key }) => key === keys[0])?.next).toBe(LATER);
    await queue.close();
  });

  it('with fields of any shape keep what can be read', async () => {
    const fields = ['name', 'pattern', 'every', 'tz', 'startDate', 'endDate', 'limit', 'ic', 'data'];
    const values = [
      '',
      'x',
      'NaN',
      '-1',
      '1e400',
      '9e99',
      '{}',
      '[1',
      '\u0000',
      ':',
      '__proto__',
      'é'.repeat(9_000),
    ];
    let entries = 0;
    for (const [at, field] of fields.entries()) {
      for (const [index, value] of values.entries()) {
        const key = `${at}-${index}`;
        await on.redis.zadd('bull:q:repeat', LATER, key);
        await on.redis.hset(`bull:q:repeat:${key}`, { name: 'a', every: '1000', ic: '2', [field]: value });
        await on.redis.hset(`bull:q:repeat:${key}:${LATER}`, { name: 'a', timestamp: LATER, opts: value });
        entries += 1;
      }
    }
    const rows = await schedulesOf(on.sources);
    expect(rows.length).toBe(entries);
    for (const row of rows) {
      expect(String(row.schedule).length).toBeLessThanOrEqual(4_096);
      for (const time of [row.lastRunAt, row.nextRunAt]) {
        expect(time === null || Number.isFinite(time?.getTime())).toBe(true);
      }
      expect(row.schedule ?? '').not.toMatch(/NaN|Infinity|undefined|null/);
    }
  });

  it('with scores that are no time, hashes that are none, or data of many megabytes are bounded', async () => {
    await on.redis.zadd(
      'bull:q:repeat',
      '+inf',
      'inf',
      '-inf',
      '-inf',
      1e300,
      'far',
      LATER,
      'gone',
      LATER,
      'text',
    );
    for (const key of ['inf', '-inf', 'far'])
      await on.redis.hset(`bull:q:repeat:${key}`, 'name', 'a', 'every', '1000', 'ic', '1');
    await on.redis.set('bull:q:repeat:text', 'no hash');
    await on.redis.zadd('bull:q:repeat', LATER, 'large');
    await on.redis.hset('bull:q:repeat:large', 'name', 'a', 'every', '1', 'data', 'x'.repeat(20_000_000));
    const rows = await schedulesOf(on.sources);
    expect(rows.map(({ name, nextRunAt, args }) => [name, nextRunAt, args])).toEqual([
      ['far', null, null],
      ['large', new Date(LATER), '<20000000 bytes>'],
    ]);
    await on.redis.del('bull:q:repeat');
    await on.redis.set('bull:q:repeat', 'no set');
    expect(await schedulesOf(on.sources)).toEqual([]);
  });

  it('of any number are cut so that each queue has its share', async () => {
    await on.redis.hset('bull:few:meta', 'version', 'bullmq:6.7.0');
    for (let from = 0; from < 12_000; from += 1_000) {
      const pipeline = on.redis.pipeline();
      for (let n = from; n < from + 1_000; n += 1) {
        pipeline.zadd('bull:q:repeat', LATER + n, `s${n}`);
        pipeline.hset(`bull:q:repeat:s${n}`, { name: 'a', every: '1000', ic: '1' });
      }
      await pipeline.exec();
    }
    for (const key of ['x', 'y']) {
      await on.redis.zadd('bull:few:repeat', LATER + HOUR, key);
      await on.redis.hset(`bull:few:repeat:${key}`, { name: 'a', every: '1000', ic: '1' });
    }
    const rows = await schedulesOf(on.sources);
    expect(rows.length).toBe(MOST_ENTRIES);
    expect(rows.filter(({ queue }) => queue === 'few').length).toBe(2);
    const due = rows.filter(({ queue }) => queue === 'q').map(({ nextRunAt }) => Number(nextRunAt));
    // Those that are due first.
    expect(Math.max(...due)).toBe(LATER + MOST_ENTRIES - 3);
    const [component] = await on.sources.components.listComponents(context);
    expect(component?.config?.hints).toContainEqual(
      expect.stringMatching(/^There are 12002 schedules, and only 5000 are listed/),
    );
  }, 60_000);

  it('are read by a user of Redis who may not write', async () => {
    await on.redis.acl(
      'SETUSER',
      'reader',
      'on',
      '>pw',
      '~*',
      '-@all',
      '+@read',
      '-@dangerous',
      '+@connection',
      '+info',
    );
    await on.redis.zadd('bull:q:repeat', LATER, 's');
    await on.redis.hset('bull:q:repeat:s', { name: 'a', every: '1000', ic: '1', data: '{"n":1}' });
    const reader = bullmqSources({ connection: `redis://reader:pw@127.0.0.1:${on.server.port}/0` });
    expect((await schedulesOf(reader)).map(({ args }) => args)).toEqual(['{"n":1}']);
    reader.close();
  });
});
