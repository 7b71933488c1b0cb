import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskQuery } from '../../src/source.ts';
import { bullmqRules } from '../helpers/acl-users.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { context, detail, page, queryOf, tree } from '../helpers/bullmq-read.ts';
import { monitorRedis } from '../helpers/redis-monitor.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { openSourceRedis, useSourceRedis } from './source-redis.ts';

const START = Date.UTC(2026, 9, 1);
const MOST = 250;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a page of 100 jobs'), () => {
  const PARTS = ['wait', 'completed', 'failed', 'delayed', 'prioritized'] as const;
  let on: Awaited<ReturnType<typeof openSourceRedis>>;

  beforeAll(async () => {
    on = await openSourceRedis();
    await fillQueues(
      on.server.port,
      ...PARTS.map((part) => ({ queue: part, part, count: 3_000, time: START, step: 2 })),
      { queue: 'all', part: 'wait', count: 3_000, time: START },
      { queue: 'all', part: 'completed', first: 3_001, count: 3_000, time: START },
      { queue: 'all', part: 'failed', first: 6_001, count: 500, time: START + 2_000, step: 0.1 },
    );
    await page(on.sources);
  });

  afterAll(() => on.close());

  const processed = async (): Promise<number> =>
    Number(/total_commands_processed:(\d+)/.exec(await on.redis.info('stats'))?.[1]);

  async function commandsOf(one: BullMQSources, part: Partial<TaskQuery>): Promise<number> {
    const before = await processed();
    expect((await page(one, part)).tasks.length).toBe(100);
    // What asks for the count is counted, too.
    return (await processed()) - before - 1;
  }

  it.each(PARTS)(`of a set %s costs at most ${MOST} commands, on any page`, async (queue) => {
    const first = await page(on.sources, { queues: [queue] });
    for (const after of [null, first.next]) {
      expect(await commandsOf(on.sources, { queues: [queue], after })).toBeLessThanOrEqual(MOST);
    }
  });

  it.each<[string, Partial<TaskQuery>]>([
    ['SUCCESS', { states: ['SUCCESS'] }],
    ['FAILURE', { states: ['FAILURE'] }],
    ['PENDING', { states: ['PENDING'] }],
    ['any state', {}],
    ['a time', { states: ['SUCCESS'], since: new Date(START + 500) }],
    ['a text', { q: 'job', search: () => true }],
  ])(`of one queue costs at most ${MOST} commands: %s`, async (_, part) => {
    expect(await commandsOf(on.sources, { queues: ['all'], ...part })).toBeLessThanOrEqual(MOST);
  });

  it.each([['memory|usage'], ['eval_ro'], ['memory|usage', 'eval_ro']])(
    'is the same for a user that may not run %s, who is not refused time and again',
    async (...without) => {
      const rules = bullmqRules().filter((rule) => !without.some((one) => rule === `+${one}`));
      await on.redis.call('ACL', 'SETUSER', 'monitor', 'reset', 'on', '>pass', ...rules);
      await on.redis.call('ACL', 'LOG', 'RESET');
      const limited = bullmqSources({ connection: on.server.url().replace('//', '//monitor:pass@') });
      for (const part of [{ queues: ['completed'] }, { queues: ['wait'] }, { queues: ['failed'] }]) {
        const [own, other] = [await page(limited, part), await page(on.sources, part)];
        expect(own).toEqual(other);
      }
      const refused = async (): Promise<number> =>
        ((await on.redis.call('ACL', 'LOG')) as string[][]).reduce((sum, entry) => sum + Number(entry[1]), 0);
      const before = await refused();
      expect(await commandsOf(limited, { queues: ['completed'] })).toBeLessThanOrEqual(2 * MOST);
      expect(await refused()).toBe(before);
      limited.close();
    },
  );

  it('does not grow further down the list, nor where no set helps', async () => {
    let deep = await page(on.sources, { limit: 1_000 });
    for (let pages = 0; pages < 5; pages += 1)
      deep = await page(on.sources, { limit: 1_000, after: deep.next });
    expect(await commandsOf(on.sources, { after: deep.next })).toBeLessThan(4_000);
    // Texts are read of no job that a filter drops.
    for (const [most, part] of [
      [3_000, { states: ['RETRY'] }],
      [3_000, { names: ['none'] }],
      [12_000, { q: 'x', search: () => false }],
    ] as const) {
      const before = await processed();
      expect((await page(on.sources, { ...part, scan: 2_000 })).total).toBeNull();
      expect((await processed()) - before).toBeLessThan(most);
    }
  });

  it('leads to jobs that cost a few commands each, wherever they stand', async () => {
    for (const id of ['wait:1', 'completed:1500', 'failed:3000', 'delayed:1500', 'prioritized:2999']) {
      const before = await processed();
      expect((await detail(on.sources, id))?.id).toBe(id);
      expect((await processed()) - before).toBeLessThan(40);
    }
  });

  it('writes nothing', async () => {
    const seen = new Set<string>();
    const end = await monitorRedis(on.server.port, (command) => seen.add(command));
    for (const part of [
      {},
      { states: ['FAILURE'] },
      { queues: ['all'] },
      { sort: 'runtime' as const, scan: 500 },
    ]) {
      await page(on.sources, part);
    }
    await detail(on.sources, 'wait:1');
    await tree(on.sources, 'wait:1');
    const filter = queryOf({ scan: 500 });
    await on.sources.tasks.getTaskStats?.({ minutes: 60, now: new Date(), filter }, context);
    end();
    expect(seen.size).toBeGreaterThan(5);
    const info = (await on.redis.command('INFO', ...seen)) as [string, number, string[]][];
    expect(info.filter((entry) => entry?.[2].includes('write')).map(([name]) => name)).toEqual([]);
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a job of 20 MB'), () => {
  const LARGE = 20_000_000;
  const on = useSourceRedis('q');

  it('is never fetched, whatever it holds and whatever the user may run', async () => {
    const text = 'x'.repeat(LARGE);
    const fields = { completed: ['data', 'returnvalue'], failed: ['data', 'failedReason', 'stacktrace'] };
    for (const [part, names] of Object.entries(fields)) {
      for (const [index, field] of names.entries()) {
        const id = `${part}-${field}`;
        await on.redis.hset(`bull:q:${id}`, {
          name: 'a',
          timestamp: START,
          finishedOn: START,
          [field]: text,
        });
        await on.redis.zadd(`bull:q:${part}`, START + index, id);
      }
    }
    await on.redis.hset('bull:q:waiting', { name: 'a', timestamp: START, data: text });
    await on.redis.lpush('bull:q:wait', 'waiting');
    for (const without of [[], ['+eval_ro'], ['+eval_ro', '+memory|usage']]) {
      const rules = bullmqRules().filter((rule) => !without.includes(rule));
      await on.redis.call('ACL', 'SETUSER', 'monitor', 'reset', 'on', '>pass', ...rules);
      const sources = bullmqSources({ connection: on.server.url().replace('//', '//monitor:pass@') });
      const sent = async (): Promise<number> =>
        Number(/total_net_output_bytes:(\d+)/.exec(await on.redis.info('stats'))?.[1]);
      const before = await sent();
      for (const part of [
        {},
        { states: ['SUCCESS'] },
        { states: ['FAILURE'] },
        { states: ['PENDING'] },
        { names: ['a'] },
        { q: 'x', search: () => true },
        { sort: 'name' as const },
      ]) {
        const { tasks } = await page(sources, part);
        expect(tasks.length).toBeGreaterThan(0);
        for (const { id, args, result, exception, traceback } of tasks) {
          expect([id, args, result, exception, traceback]).toContain(`<${LARGE} bytes>`);
        }
      }
      expect((await sent()) - before).toBeLessThan(1_000_000);
      sources.close();
    }
  });
});
