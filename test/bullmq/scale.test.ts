import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskQuery } from '../../src/source.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { detail, page, queryOf } from '../helpers/bullmq-read.ts';
import { monitorRedis } from '../helpers/redis-monitor.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const START = Date.UTC(2026, 9, 1);
const FEW = 3_000;
const MANY = 30_000;
/** Ten times the aim, for a machine that may stop Redis in the middle of a command. */
const SLOW_MICROS = 100_000;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what a page of jobs costs'), () => {
  let servers: readonly RedisServer[] = [];
  let sources: readonly BullMQSources[] = [];
  let admins: readonly Redis[] = [];

  beforeAll(async () => {
    servers = await Promise.all([startRedis(), startRedis()]);
    admins = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
    for (const [index, count] of [FEW, MANY].entries()) {
      await fillQueues(
        servers[index]?.port ?? 0,
        { queue: 'a', part: 'wait', count, time: START, step: 0.5 },
        { queue: 'a', part: 'completed', first: count + 1, count, time: START },
        { queue: 'a', part: 'failed', first: 2 * count + 1, count, time: START },
        { queue: 'b', part: 'delayed', count, time: START, step: 0.5 },
        { queue: 'b', part: 'prioritized', first: count + 1, count, time: START, step: 0.5 },
      );
    }
    sources = servers.map((server) => bullmqSources({ connection: server.url() }));
    for (const one of sources) await firstPage(one);
  }, 120_000);

  afterAll(async () => {
    for (const one of sources) one.close();
    for (const admin of admins) admin.disconnect();
    await Promise.all(servers.map((server) => server.close()));
  });

  /** Reads once what is remembered. Redis may still be busy with what was written. */
  async function firstPage(one: BullMQSources): Promise<void> {
    await until(() =>
      page(one).then(
        () => true,
        () => false,
      ),
    );
  }

  /** Commands of a read, and the longest that one of them kept Redis busy, in microseconds. */
  async function cost(
    index: number,
    read: (one: BullMQSources) => Promise<unknown>,
  ): Promise<{ commands: number; slowest: number }> {
    const [admin, one] = [admins[index], sources[index]];
    if (admin === undefined || one === undefined) throw new RangeError('There is no such server.');
    await admin.config('SET', 'slowlog-log-slower-than', '10000');
    await admin.slowlog('RESET');
    const before = await processed(admin);
    await read(one);
    // What asks for the count is counted, too.
    const commands = (await processed(admin)) - before - 1;
    const slow = (await admin.slowlog('GET', 128)) as [number, number, number, string[]][];
    return { commands, slowest: Math.max(0, ...slow.map(([, , micros]) => micros)) };
  }

  async function processed(admin: Redis): Promise<number> {
    return Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
  }

  const queries: readonly [string, Partial<TaskQuery>][] = [
    ['without a filter', {}],
    ['from the oldest', { order: 'asc' }],
    ['of one state', { states: ['SUCCESS'] }],
    ['of another state', { states: ['PENDING', 'RETRY'] }],
    ['of what waits for the first time', { states: ['PENDING'] }],
    ['of one queue', { queues: ['b'] }],
    ['of one queue and state', { queues: ['a'], states: ['FAILURE'] }],
    ['since a moment', { since: new Date(START + 1_000), states: ['FAILURE'] }],
  ];

  it.each(queries)('%s does not grow with what is stored', async (_, part) => {
    const [few, many] = [await cost(0, (one) => page(one, part)), await cost(1, (one) => page(one, part))];
    expect(many.commands).toBeLessThan(few.commands * 1.5 + 50);
    expect(many.commands).toBeLessThan(1_000);
    expect(many.slowest).toBeLessThan(SLOW_MICROS);
  });

  it.each(queries)('%s does not grow further down the list', async (_, part) => {
    let deep = await page(sources[1] as BullMQSources, { ...part, limit: 1_000 });
    for (let pages = 0; pages < 5; pages += 1) {
      deep = await page(sources[1] as BullMQSources, { ...part, limit: 1_000, after: deep.next });
    }
    const first = await cost(1, (one) => page(one, part));
    const later = await cost(1, (one) => page(one, { ...part, after: deep.next }));
    // Of each large set that time does not sort, the newest jobs up to the page are read again.
    expect(later.commands).toBeLessThan(first.commands * 1.5 + 3_100);
    expect(later.slowest).toBeLessThan(SLOW_MICROS);
  });

  it('is bounded by the rows that may be looked at where no set helps', async () => {
    for (const part of [
      { states: ['RETRY'] },
      { names: ['none'] },
      { q: 'x', search: () => false },
      { sort: 'name' as const },
    ]) {
      const { commands, slowest } = await cost(1, async (one) => {
        await page(one, { ...part, scan: 2_000 });
      });
      expect(commands).toBeLessThan(12_000);
      expect(slowest).toBeLessThan(SLOW_MICROS);
    }
  });

  it('of one job is a few commands, wherever it stands', async () => {
    for (const id of [
      `a:1`,
      `a:${MANY / 2}`,
      `a:${MANY}`,
      `a:${MANY + 5}`,
      `b:${MANY / 2}`,
      `b:${MANY + 70}`,
    ]) {
      const { commands, slowest } = await cost(1, async (one) => {
        expect((await detail(one, id))?.id).toBe(id);
      });
      expect(commands).toBeLessThan(40);
      expect(slowest).toBeLessThan(SLOW_MICROS);
    }
  });

  it('writes nothing', async () => {
    const one = sources[0] as BullMQSources;
    const { port } = servers[0] as RedisServer;
    const seen: string[] = [];
    const end = await monitorRedis(port, (command) => seen.push(command));
    for (const [, part] of queries) await page(one, part);
    await page(one, { sort: 'runtime', scan: 500 });
    await page(one, { rootId: 'a:1' });
    await detail(one, 'a:1');
    const context = { signal: new AbortController().signal };
    await one.tasks.getTaskTree?.('a:1', context);
    await one.tasks.getTaskStats?.({ minutes: 60, now: new Date(), filter: queryOf({ scan: 500 }) }, context);
    end();
    expect(seen.length).toBeGreaterThan(1_000);
    const info = (await (admins[0] as Redis).command('INFO', ...new Set(seen))) as [
      string,
      number,
      string[],
    ][];
    expect(info.filter((entry) => entry?.[2].includes('write')).map(([name]) => name)).toEqual([]);
  });
});
