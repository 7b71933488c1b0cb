import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createMonitorClient, type MonitorClient } from '../../src/client.ts';
import { memorySources } from '../../src/memory.ts';
import { startBullMQ } from '../helpers/bullmq-app.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

const LIMIT = 20;

/** Calls `between` after every {@link LIMIT} tasks. */
async function idsOf(client: MonitorClient, between: () => unknown): Promise<string[]> {
  const ids: string[] = [];
  for await (const task of client.eachTask({ limit: LIMIT })) {
    ids.push(task.task_id);
    if (ids.length % LIMIT === 0) await between();
  }
  return ids;
}

describe('eachTask of tasks that move while it reads', () => {
  it('finds each task of a memory source once', async () => {
    const queue = memorySources();
    const { base } = await serve(major, { sources: queue });
    const all = Array.from({ length: 300 }, (_, n) => `t${n}`);
    const start = Date.now() - 600_000;
    for (const [n, id] of all.entries()) {
      queue.record({ id, state: 'PENDING', name: 'job', timestamp: start + n * 100 });
    }
    // The tasks that run are those that a walk, the newest first, comes to last.
    let next = 0;
    const ids = await idsOf(createMonitorClient(base), () => {
      for (const id of all.slice(next, next + 9)) queue.record({ id, state: 'STARTED', name: 'job' });
      next += 9;
    });
    expect(next).toBeGreaterThan(100);
    expect(ids.toSorted()).toEqual(all.toSorted());
  });

  it.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
    titleUnless(redisMissing, 'finds each job of $label once'),
    async ({ bullmq }) => {
      const app = await startBullMQ(bullmq);
      const sources = bullmqSources({ connection: app.redis.url() });
      onTestFinished(async () => {
        await sources.close();
        await app.close();
      });
      const queue = app.queue('mail');
      const numbers = Array.from({ length: 400 }, (_, n) => n);
      const added = await queue.addBulk(numbers.map((n) => ({ name: 'send', data: { n } })));
      const { base } = await serve(major, { sources });
      const client = createMonitorClient(base);
      await until(async () => (await client.tasks({ limit: 1 })).total === numbers.length);
      const done = () => queue.getJobCountByTypes('completed');
      app.worker('mail', () => sleep(5), { concurrency: 4 });
      await until(async () => (await done()) > 20);
      const before = await done();
      const ids = await idsOf(client, () => sleep(20));
      // Otherwise nothing has moved.
      expect(await done()).toBeGreaterThan(before + 50);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.toSorted()).toEqual(added.map(({ id }) => `mail:${id}`).toSorted());
    },
  );
});
