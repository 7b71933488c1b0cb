import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { page, walk } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { useSourceRedis } from './source-redis.ts';

const START = Date.UTC(2026, 9, 1);
const BY_NAME = { sort: 'name', order: 'asc' } as const;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'pages of jobs sorted by name'), () => {
  const on = useSourceRedis();

  async function processed(): Promise<number> {
    return Number(/total_commands_processed:(\d+)/.exec(await on.redis.info('stats'))?.[1]);
  }

  it('read all jobs for each page, and list each once', async () => {
    const [count, limit] = [1_050, 200];
    await fillQueues(
      on.server.port,
      { queue: 'a', part: 'completed', count: count - 500, time: START },
      { queue: 'a', part: 'wait', first: count, count: 500, time: START },
    );
    const before = await processed();
    let pages = 0;
    const rows = await walk(on.sources, { ...BY_NAME, limit }, async () => {
      pages += 1;
    });
    expect(pages).toBe(6);
    // To show a job takes two commands.
    expect((await processed()) - before).toBeLessThan(pages * (count + 2 * limit + 100));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(count);
    const keys = rows.map(({ name, id }) => `${name} ${id}`);
    expect(keys).toEqual(keys.toSorted());
  });

  it('list the newest jobs that one answer may look at, and say that others are missing', async () => {
    await fillQueues(
      on.server.port,
      { queue: 'a', part: 'completed', count: 300, time: START },
      { queue: 'b', part: 'wait', count: 1_500, time: START + 300 },
    );
    const query = { ...BY_NAME, scan: 1_600, limit: 1_000 };
    const first = await page(on.sources, query);
    const second = await page(on.sources, { ...query, after: first.next });
    for (const one of [first, second]) expect(one).toMatchObject({ total: 1_800, cursorExact: false });
    expect(second.next).toBeNull();
    const ids = [...first.tasks, ...second.tasks].map(({ id }) => id);
    const newest = Array.from({ length: 100 }, (_, n) => `a:${201 + n}`);
    expect(new Set(ids).size).toBe(1_600);
    expect(ids).toEqual(expect.arrayContaining(newest));
    expect(await page(on.sources, { ...query, names: ['job-1'] })).toMatchObject({ total: null });
  });

  it('show what has become of a job since the first page', async () => {
    await fillQueues(
      on.server.port,
      { queue: 'a', part: 'completed', count: 50, time: START },
      { queue: 'a', part: 'wait', first: 51, count: 50, time: START },
    );
    await on.redis.del('bull:a:100');
    await on.redis.hset('bull:a:active-1', { name: 'z', timestamp: START, processedOn: START, data: '{}' });
    await on.redis.hset('bull:a:active-2', { name: 'z', timestamp: START, processedOn: START, data: '{}' });
    await on.redis.lpush('bull:a:active', 'active-1', 'active-2');
    await on.redis.set('bull:a:active-1:lock', 'x');
    await on.redis.set('bull:a:active-2:lock', 'x');
    let isFirst = true;
    const rows = await walk(on.sources, { ...BY_NAME, limit: 10 }, async () => {
      if (!isFirst) return;
      isFirst = false;
      await on.redis.multi().lrem('bull:a:wait', 1, '97').del('bull:a:97').exec();
      await on.redis
        .multi()
        .lrem('bull:a:wait', 1, '90')
        .hset('bull:a:90', { processedOn: START, finishedOn: START + 9, atm: 1, returnvalue: '"done"' })
        .zadd('bull:a:completed', START + 9, '90')
        .exec();
      await on.redis
        .multi()
        .zrem('bull:a:completed', '48')
        .hdel('bull:a:48', 'finishedOn', 'processedOn', 'returnvalue')
        .hset('bull:a:48', 'atm', 0)
        .lpush('bull:a:wait', '48')
        .exec();
      await on.redis.multi().lrem('bull:a:active', 1, 'active-2').lpush('bull:a:wait', 'active-2').exec();
      await fillQueues(on.server.port, { queue: 'a', part: 'wait', first: 1_000, count: 10, time: START });
    });
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.size).toBe(rows.length);
    expect(byId.has('a:97')).toBe(false);
    expect(byId.get('a:90')).toMatchObject({ state: 'SUCCESS', result: 'done' });
    expect(byId.get('a:48')).toMatchObject({ state: 'PENDING', result: null, finished: null });
    expect(byId.get('a:active-1')).toMatchObject({ state: 'STARTED' });
    expect(byId.get('a:active-2')).toMatchObject({ state: 'PENDING' });
    expect((await page(on.sources, { ...BY_NAME, limit: 1_000 })).tasks.length).toBe(110);
  });

  it('leave out a job that does not match any more', async () => {
    await fillQueues(on.server.port, { queue: 'a', part: 'wait', count: 100, time: START });
    const query = { ...BY_NAME, states: ['PENDING', 'RETRY'], limit: 10 };
    const { next } = await page(on.sources, query);
    await on.redis
      .multi()
      .del('bull:a:wait')
      .hset('bull:a:6', { finishedOn: START + 9, returnvalue: '1' })
      .zadd('bull:a:completed', START + 9, '6')
      .exec();
    const rows = await walk(on.sources, { ...query, after: next });
    expect(rows.map(({ id }) => id)).not.toContain('a:6');
  });

  it('continue with other filters, and on another instance, as if nothing had been kept', async () => {
    await fillQueues(
      on.server.port,
      { queue: 'a', part: 'completed', count: 100, time: START },
      { queue: 'b', part: 'failed', count: 100, time: START },
    );
    const first = await page(on.sources, { ...BY_NAME, limit: 50 });
    const other = bullmqSources({ connection: on.server.url() });
    const second = { ...BY_NAME, limit: 50, after: first.next };
    expect(await page(other, second)).toEqual(await page(on.sources, second));
    other.close();
    for (const part of [{ queues: ['b'] }, { states: ['FAILURE'] }, { names: ['job-5'] }, { scan: 120 }]) {
      const { tasks } = await page(on.sources, { ...second, ...part });
      expect(tasks).toEqual((await page(on.sources, { ...second, ...part })).tasks);
      expect(tasks.every(({ queue, name }) => queue === 'b' || name === 'job-5' || 'scan' in part)).toBe(
        true,
      );
    }
    let searched = 0;
    const search = (): boolean => {
      searched += 1;
      return true;
    };
    await page(on.sources, { ...second, q: 'job', search });
    await page(on.sources, { ...second, q: 'job', search });
    expect(searched).toBe(400);
  });
});
