import { describe, expect, it } from 'vitest';
import type { TaskPage, TaskPosition } from '../../src/source.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { useQueueRedis } from './queue-redis.ts';
import { context, messageOf, queryOf } from './queues-lab.ts';

const MEGABYTE = 1024 * 1024;
/** Commands that only read, and those of a connection. */
const READS = new Set([
  ...['scan', 'sscan', 'llen', 'lrange', 'pttl', 'zcard', 'zcount', 'zrevrange', 'zrangebyscore', 'hmget'],
  ...['ping', 'info', 'select', 'config', 'slowlog', 'hello', 'client', 'psubscribe', 'role'],
]);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a long queue'), () => {
  const own = useQueueRedis();

  async function fill(queue: string, count: number, make: (at: number) => string): Promise<void> {
    for (let from = 0; from < count; from += 1000) {
      const length = Math.min(1000, count - from);
      await own.client.lPush(
        queue,
        Array.from({ length }, (_, at) => make(from + at)),
      );
    }
  }

  /** Calls so far, by command. */
  async function calls(): Promise<Map<string, number>> {
    const stats = await own.client.info('commandstats');
    return new Map(
      [...stats.matchAll(/cmdstat_(\w+)[^:]*:calls=(\d+)/g)].map(([, name, count]) => [
        name ?? '',
        Number(count),
      ]),
    );
  }

  async function sentBytes(): Promise<number> {
    return Number(/total_net_output_bytes:(\d+)/.exec(await own.client.info('stats'))?.[1]);
  }

  it('shows those that run next and the newest, costs no command for a page, and Redis no time and no writing', async () => {
    const COUNT = 100_000;
    await fill('celery', COUNT, (at) => messageOf(`t${at}`));
    // The slow log as a log of all commands.
    await own.client.sendCommand(['CONFIG', 'SET', 'slowlog-max-len', '100000']);
    await own.client.sendCommand(['CONFIG', 'SET', 'slowlog-log-slower-than', '0']);
    await own.client.sendCommand(['SLOWLOG', 'RESET']);
    await own.client.sendCommand(['CONFIG', 'RESETSTAT']);
    const { queues, tasks } = await own.open([]);
    expect(await queues()).toEqual([{ name: 'celery', waiting: COUNT, reserved: 0, consumers: null }]);

    async function page(
      after: TaskPosition | null,
    ): Promise<{ ids: string[]; next: TaskPosition | null; cost: number }> {
      const before = (await calls()).get('lrange') ?? 0;
      const { tasks: rows, next, total } = await tasks.listTasks(queryOf({ limit: 100, after }), context);
      expect(total).toBeNull();
      return { ids: rows.map(({ id }) => id), next, cost: ((await calls()).get('lrange') ?? 0) - before };
    }
    const numbered = (from: number): string[] => Array.from({ length: 100 }, (_, at) => `t${from + at}`);
    const first = await page(null);
    expect(first.ids).toEqual(numbered(0));
    const second = await page(first.next);
    expect(second.ids).toEqual(numbered(100));
    let last = second;
    // The next 1,000, then the newest 100.
    for (const at of [200, 300, 400, 500, 600, 700, 800, 900, COUNT - 100]) {
      last = await page(last.next);
      expect(last.ids).toEqual(numbered(at));
      // Only what is read once a second.
      expect(last.cost).toBeLessThan(10);
    }
    expect(last.next).toBeNull();
    const rows = await tasks.listTasks(queryOf({ q: 'x', search: ({ id }) => id === 't60' }), context);
    expect(rows.tasks.map(({ id }) => id)).toEqual(['t60']);
    expect((await tasks.getTask('t150', context))?.name).toBe('yard.add');
    expect((await tasks.getTask(`t${COUNT - 5}`, context))?.state).toBe('PENDING');
    expect(await tasks.getTask('t50000', context)).toBeNull();

    // Redis takes as long as the range that is asked for; a clock would measure how busy the machine is.
    const log = (await own.client.sendCommand(['SLOWLOG', 'GET', '100000'])) as unknown as [
      id: number,
      at: number,
      took: number,
      command: string[],
    ][];
    const ranges = log.flatMap(([, , , [name, , first, last]]) =>
      name?.toUpperCase() === 'LRANGE' ? [Number(last) - Number(first) + 1] : [],
    );
    expect(Math.max(...ranges)).toBeLessThanOrEqual(1_000);
    expect([...(await calls()).keys()].filter((name) => !READS.has(name))).toEqual([]);
  }, 60_000);

  it('is listed whole once few enough are left, and no more when too many come', async () => {
    await fill('celery', 1_200, (at) => messageOf(`t${at}`));
    const { tasks } = await own.open([]);
    const page = async () => await tasks.listTasks(queryOf({ limit: 3 }), context);
    const total = async () => (await page()).total;
    expect(await total()).toBeNull();
    await own.client.rPopCount('celery', 100);
    await until(async () => (await total()) === 1_100);
    expect((await page()).tasks.map(({ id }) => id)).toEqual(['t100', 't101', 't102']);
    await own.client.lTrim('celery', 0, 499);
    await until(async () => (await total()) === 500);
    expect((await page()).tasks.map(({ id }) => id)).toEqual(['t700', 't701', 't702']);
    await fill('celery', 700, (at) => messageOf(`u${at}`));
    await until(async () => (await total()) === null);
    expect((await tasks.getTask('u650', context))?.state).toBe('PENDING');
    await own.client.del('celery');
    await until(async () => (await total()) === 0);
  }, 60_000);

  it('is walked to its end while the newest change', async () => {
    await fill('celery', 1_500, (at) => messageOf(`t${at}`));
    const { tasks, queues } = await own.open([]);
    const seen: string[] = [];
    let after: TaskPosition | null = null;
    let count = 1_500;
    do {
      const page: TaskPage = await tasks.listTasks(queryOf({ limit: 50, after }), context);
      seen.push(...page.tasks.map(({ id }) => id));
      after = page.next;
      if (seen.length <= 1_000) continue;
      // The page ended in the newest: some of them are no longer among the newest then.
      await own.client.lPush(
        'celery',
        Array.from({ length: 60 }, (_, at) => messageOf(`t${count + at}`)),
      );
      count += 60;
      await until(async () => (await queues())[0]?.waiting === count);
      await until(async () => (await tasks.getTask(`t${count - 1}`, context)) !== null);
    } while (after !== null && seen.length < 1_400);
    const numbers = seen.map((id) => Number(id.slice(1)));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(seen.length).toBe(1_400);
  }, 60_000);

  it('of large messages is read a little at a time', async () => {
    const body = Buffer.from(
      `[["${'x'.repeat(1.4 * MEGABYTE)}"], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]`,
    ).toString('base64');
    for (let at = 0; at < 45; at += 1) await own.client.lPush('celery', messageOf(`t${at}`, { body }));
    const before = await sentBytes();
    const opened = performance.now();
    const { queues, tasks } = await own.open([]);
    // More than 64 MiB are not read at once.
    await until(async () => (await queues())[0]?.waiting === 45);
    await until(async () => (await tasks.listTasks(queryOf({ limit: 1 }), context)).tasks.length > 0);
    expect((await tasks.listTasks(queryOf({ limit: 1 }), context)).total).toBeNull();
    // At once, and what is read once a second, at most, however long that took.
    const secondsSince = (start: number): number => Math.ceil((performance.now() - start) / 1_000);
    const read = await sentBytes();
    expect(read - before).toBeLessThan((70 + 15 * secondsSince(opened)) * MEGABYTE);
    const began = performance.now();
    const ids: string[] = [];
    let after: TaskPosition | null = null;
    for (let page = 0; page < 3; page += 1) {
      const { tasks: rows, next } = await tasks.listTasks(queryOf({ limit: 4, after }), context);
      ids.push(...rows.map(({ id }) => id));
      after = next;
    }
    expect(ids).toEqual(Array.from({ length: 12 }, (_, at) => `t${at}`));
    // What is read once a second, at most.
    const more = (await sentBytes()) - read;
    expect(more).toBeLessThan((45 + 15 * secondsSince(began)) * MEGABYTE);
  }, 60_000);
});
