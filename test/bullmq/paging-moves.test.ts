import { describe, expect, it } from 'vitest';
import type { Filling } from '../helpers/bullmq-fill.ts';
import { expectOnce, pagesLab, rest } from '../helpers/bullmq-pages.ts';
import { page, walk } from '../helpers/bullmq-read.ts';
import { firstOf, unsampled } from '../helpers/cases.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const START = Date.UTC(2026, 9, 1);
const ORDERS = firstOf(['desc', 'asc'] as const);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'pages of jobs that move'), () => {
  const lab = pagesLab();

  it.each(ORDERS)(
    'lose and repeat none of the waiting jobs, %s, while others come, are taken, and are removed',
    async (order) => {
      await lab.fill({ queue: 'a', part: 'wait', count: 4_000, time: START, step: 0.2 });
      const queue = lab.app.queue('a');
      const gone = new Set<string>();
      let pages = 0;
      const rows = await walk(lab.sources, { limit: 100, order }, async (tasks) => {
        pages += 1;
        if (pages > 60) return;
        await queue.addBulk(Array.from({ length: 30 }, (_, n) => ({ name: 'new', data: { n } })));
        for (let n = 0; n < 11; n += 1) gone.add(`a:${await lab.redis.rpop('bull:a:wait')}`);
        // Neighbours of where the next page begins, too.
        for (const { id } of [...tasks.slice(-1), ...tasks.slice(-9, -7)]) {
          gone.add(id);
          await queue.remove(id.slice(2));
        }
      });
      expect(pages).toBeGreaterThan(20);
      expectOnce(rows, rest('a', 4_000, gone));
    },
    60_000,
  );

  it.each(ORDERS)(
    'lose and repeat none, %s, while lists move as they are read',
    async (order) => {
      const names = Array.from({ length: 12 }, (_, n) => `q${n}`);
      await lab.fill(
        ...names.map((queue): Filling => ({ queue, part: 'wait', count: 1_500, time: START, step: 0.3 })),
      );
      const gone = new Set<string>();
      let isOver = false;
      let next = 1_501;
      async function move(): Promise<void> {
        for (; !isOver; next += 1) {
          const batch = lab.redis.pipeline();
          for (const queue of names) {
            batch.hset(`bull:${queue}:${next}`, { name: 'new', data: '{}', timestamp: Date.now() });
            batch.lpush(`bull:${queue}:wait`, next).rpop(`bull:${queue}:wait`);
          }
          const replies = (await batch.exec()) ?? [];
          for (const [index, queue] of names.entries()) gone.add(`${queue}:${replies[3 * index + 2]?.[1]}`);
        }
      }
      const moving = move();
      const rows = await walk(lab.sources, { limit: 1_000, order });
      isOver = true;
      await moving;
      expect(next).toBeGreaterThan(1_530);
      expectOnce(
        rows,
        names.flatMap((name) => rest(name, 1_500, gone)),
      );
    },
    60_000,
  );

  unsampled(() => {
    it('lose and repeat none that stay while workers run through the others', async () => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 3_000, time: START },
        { queue: 'a', part: 'completed', first: 3_001, count: 3_000, time: START + 1_500 },
        { queue: 'b', part: 'delayed', count: 1_200, time: START, step: 2 },
      );
      lab.app.worker('a', async () => ({}), { concurrency: 20 });
      const rows = await walk(lab.sources, { limit: 100 });
      const done = new Set(
        (await lab.redis.zrangebyscore('bull:a:completed', START + 1_000_000, '+inf')).map((id) => `a:${id}`),
      );
      expect(done.size).toBeGreaterThan(0);
      expectOnce(rows, [...rest('a', 6_000, done), ...rest('b', 1_200)]);
    }, 60_000);

    it('end early, and without an exception, when a queue is obliterated or all is gone', async () => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 3_000, time: START },
        { queue: 'b', part: 'completed', count: 3_000, time: START },
      );
      let pages = 0;
      const rows = await walk(lab.sources, { limit: 500 }, async () => {
        pages += 1;
        if (pages === 2) await lab.app.queue('a').obliterate({ force: true });
      });
      expectOnce(rows, rest('b', 3_000));
      let left = 0;
      await walk(lab.sources, { limit: 500 }, async () => {
        left += 1;
        if (left === 2) await lab.redis.flushall();
      });
      expect(left).toBeLessThan(5);
    }, 60_000);

    it('go on when Redis has been restarted in between', async () => {
      const aof = ['--appendonly', 'yes', '--appendfsync', 'always'];
      await lab.app.redis.kill();
      await lab.app.redis.start(...aof);
      await lab.fill(
        { queue: 'a', part: 'wait', count: 2_000, time: START },
        { queue: 'b', part: 'completed', count: 2_000, time: START },
      );
      let pages = 0;
      const rows = await walk(lab.sources, { limit: 300 }, async () => {
        pages += 1;
        if (pages !== 4) return;
        await lab.app.redis.kill();
        await expect(page(lab.sources)).rejects.toThrow(/Redis/);
        expect(lab.sources.tasks.status?.().ok).toBe(false);
        await lab.app.redis.start(...aof);
        await until(() => lab.sources.tasks.status?.().ok === true);
      });
      expectOnce(rows, [...rest('a', 2_000), ...rest('b', 2_000)]);
    }, 60_000);
  });
});
