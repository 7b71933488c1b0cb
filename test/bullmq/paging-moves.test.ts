import { describe, expect, it } from 'vitest';
import { expectOnce, pagesLab, rest } from '../helpers/bullmq-pages.ts';
import { page, walk } from '../helpers/bullmq-read.ts';
import { firstOf, unsampled } from '../helpers/cases.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const START = Date.UTC(2026, 9, 1);
const ORDERS = firstOf(['desc', 'asc'] as const);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'pages of jobs that move'), () => {
  const lab = pagesLab();

  it.each(ORDERS)(
    'lose and repeat none of one set, %s, while others come, are taken, and are removed',
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
        for (const { id } of tasks.slice(-9, -1)) {
          gone.add(id);
          await queue.remove(id.slice(2));
        }
      });
      expect(pages).toBeGreaterThan(20);
      expectOnce(rows, rest('a', 4_000, gone));
    },
    60_000,
  );

  unsampled(() => {
    it('lose and repeat none that stay while workers run through the others', async () => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 900, time: START },
        { queue: 'a', part: 'completed', first: 901, count: 3_000, time: START + 1_500 },
        { queue: 'b', part: 'delayed', count: 900, time: START, step: 2 },
      );
      lab.app.worker('a', async () => ({}), { concurrency: 20 });
      const rows = await walk(lab.sources, { limit: 100 });
      const done = new Set(
        (await lab.redis.zrangebyscore('bull:a:completed', START + 1_000_000, '+inf')).map((id) => `a:${id}`),
      );
      expect(done.size).toBeGreaterThan(0);
      expectOnce(rows, [...rest('a', 3_900, done), ...rest('b', 900)]);
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
        { queue: 'a', part: 'wait', count: 900, time: START },
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
      expectOnce(rows, [...rest('a', 900), ...rest('b', 2_000)]);
    }, 60_000);
  });
});
