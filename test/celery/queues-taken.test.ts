import { describe, expect, it } from 'vitest';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { useQueueRedis } from './queue-redis.ts';
import { context, messageOf, openLab, queryOf, walkPages } from './queues-lab.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'messages that workers have taken'), () => {
  const own = useQueueRedis();

  /** As kombu does when a worker takes a message. */
  async function take(id: string, score: number, raw = `[${messageOf(id)}, "", "celery"]`): Promise<void> {
    await own.client
      .multi()
      .zAdd('unacked_index', { score, value: `tag-${id}` })
      .hSet('unacked', `tag-${id}`, raw)
      .exec();
  }

  it.skipIf(celeryMissing !== null)(
    titleUnless(celeryMissing, 'come first, with the queue that they were taken from'),
    async () => {
      const app = celeryApp({ broker_url: own.redis.url(), result_backend: own.redis.url(1) }, 'queue_later');
      // The next missing heartbeat of a known worker would change the list earlier than an eta does.
      const worker = await app.plainWorker('-P', 'solo', '-Q', 'celery,reports', '--without-heartbeat');
      const sent = (await app.script('queue_later.py')) as Record<'later' | 'reports' | 'nobody', string[]>;
      const { tasks, queues, unreadable } = await openLab(own.redis.url());
      const isReserved = async (...counts: number[]): Promise<boolean> =>
        (await queues()).map(({ reserved }) => reserved).join() === counts.join();
      try {
        await until(() => isReserved(5, 0, 3));
        expect(await queues()).toEqual([
          { name: 'celery', waiting: 0, reserved: 5, consumers: null },
          { name: 'nobody', waiting: 4, reserved: 0, consumers: null },
          { name: 'reports', waiting: 0, reserved: 3, consumers: null },
        ]);
        const rows = await walkPages(tasks, { limit: 3 });
        const tags = await own.client.zRange('unacked_index', 0, -1);
        const taken = (await own.client.hmGet('unacked', tags)).map(
          (raw) => (JSON.parse(raw ?? '') as [{ headers: { id: string } }])[0].headers.id,
        );
        expect(rows.map(({ id }) => id)).toEqual([...taken, ...sent.nobody]);
        for (const [queue, ids] of [
          ['reports', sent.reports],
          ['nobody', sent.nobody],
          ['celery', sent.later],
        ] as const) {
          expect(rows.filter((row) => row.queue === queue).map(({ id }) => id)).toEqual(ids);
        }
        expect(rows.map(({ state, eta, flags }) => [state, eta !== null, flags])).toEqual(
          rows.map((_, index) => ['PENDING', index < 8, []]),
        );
        // Nothing is due before the first eta.
        expect(Number(tasks.status?.().changesAt)).toBeGreaterThan(Date.now() + 500_000);
        // The worker gives back what it holds; the tasks stay what they are.
        await worker.stop();
        await until(async () => (await queues()).every(({ reserved }) => reserved === 0));
        const after = await walkPages(tasks, { limit: 100 });
        expect(after.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
        expect(await unreadable()).toBe(0);
      } finally {
        await app.close();
      }
    },
    60_000,
  );

  it('are read in spite of tags without a message and messages that are none', async () => {
    await take('a', 1);
    await own.client.zAdd('unacked_index', { score: 2, value: 'tag-without-message' });
    await take('b', 3, 'no JSON');
    await take('c', 4);
    const { tasks, queues, unreadable } = await own.open(['broken', messageOf('d'), '{}']);
    expect((await walkPages(tasks, { limit: 2 })).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
    expect(await unreadable()).toBe(3);
    expect(await queues()).toEqual([{ name: 'celery', waiting: 3, reserved: 2, consumers: null }]);
    expect((await tasks.listTasks(queryOf(), context)).total).toBe(3);
  });

  it('are paged by time, many of one moment too', async () => {
    const ids = Array.from({ length: 40 }, (_, at) => String(at).padStart(2, '0'));
    const time = (id: string): number => (Number(id) < 30 ? 5.25 : Number(id) / 7);
    for (const id of ids) await take(id, time(id));
    const fillers = Array.from({ length: 10_001 }, (_, index) => messageOf(`filler-${index}`));
    const { tasks, queues } = await own.open(fillers);
    const seen: string[] = [];
    let after = null;
    while (seen.length < 41) {
      const page = await tasks.listTasks(queryOf({ limit: 7, after }), context);
      expect(page.total).toBeNull();
      seen.push(...page.tasks.map(({ id }) => id));
      after = page.next;
    }
    const byTime = ids.toSorted((a, b) => time(a) - time(b) || (a < b ? -1 : 1));
    expect(seen.slice(0, 41)).toEqual([...byTime, 'filler-0']);
    expect(await queues()).toEqual([{ name: 'celery', waiting: 10_001, reserved: 40, consumers: null }]);
  });

  it('leave no trace once they are acknowledged', async () => {
    for (let at = 0; at < 1200; at += 1) await take(String(at), at);
    const { tasks } = await own.open([]);
    const total = async () => (await tasks.listTasks(queryOf({ limit: 1 }), context)).total;
    await until(async () => (await total()) === 1200);
    await own.client.zRemRangeByRank('unacked_index', 0, 599);
    await until(async () => (await total()) === 600);
    expect(await tasks.getTask('599', context)).toBeNull();
    // One for another at the same place: nothing but the tags tells of it.
    await own.client.zRem('unacked_index', 'tag-700');
    await take('x', 500);
    await until(async () => (await tasks.getTask('700', context)) === null);
    expect((await tasks.listTasks(queryOf({ limit: 1 }), context)).tasks[0]?.id).toBe('x');
    expect(await total()).toBe(600);
  });
});
