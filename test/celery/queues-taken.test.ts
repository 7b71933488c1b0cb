import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { context, messageOf, openLab, openPoll, queryOf, walkPages } from './queues-lab.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'messages that workers have taken'), () => {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;

  beforeEach(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
  });

  afterEach(async () => {
    client?.destroy();
    await redis?.close();
  });

  /** As kombu does when a worker takes a message. */
  async function take(id: string, score: number, raw = `[${messageOf(id)}, "", "celery"]`): Promise<void> {
    await client
      .multi()
      .zAdd('unacked_index', { score, value: `tag-${id}` })
      .hSet('unacked', `tag-${id}`, raw)
      .exec();
  }

  it.skipIf(celeryMissing !== null)(
    titleUnless(celeryMissing, 'come first, with the queue that they were taken from'),
    async () => {
      const settings = { broker_url: redis.url(), result_backend: redis.url(1) };
      const app = celeryApp(settings, 'queue_later');
      const worker = await app.plainWorker('-P', 'solo', '-Q', 'celery,reports');
      const sent = (await app.script('queue_later.py')) as Record<'later' | 'reports' | 'nobody', string[]>;
      const lab = openLab(redis.url());
      try {
        await until(() => lab.queues.depths().some(({ reserved }) => reserved === 5));
        await until(() => lab.queues.depths().some(({ reserved }) => reserved === 3));
        expect(lab.queues.depths()).toEqual([
          { name: 'celery', waiting: 0, reserved: 5, consumers: null },
          { name: 'nobody', waiting: 4, reserved: 0, consumers: null },
          { name: 'reports', waiting: 0, reserved: 3, consumers: null },
        ]);
        const rows = await walkPages(lab.tasks, { limit: 3 });
        const tags = await client.zRange('unacked_index', 0, -1);
        const taken = (await client.hmGet('unacked', tags)).map(
          (raw) => (JSON.parse(raw ?? '') as [{ headers: { id: string } }])[0].headers.id,
        );
        expect(rows.map(({ id }) => id)).toEqual([...taken, ...sent.nobody]);
        for (const queue of ['reports', 'nobody'] as const) {
          expect(rows.filter((row) => row.queue === queue).map(({ id }) => id)).toEqual(sent[queue]);
        }
        expect(rows.filter((row) => row.queue === 'celery').map(({ id }) => id)).toEqual(sent.later);
        expect(rows.map(({ state, eta, flags }) => [state, eta !== null, flags])).toEqual(
          rows.map((_, index) => ['PENDING', index < 8, []]),
        );
        expect(lab.queues.holds(sent.later[0] as string)).toBe(true);
        expect(lab.queues.holds('unknown')).toBe(false);
        expect(lab.queues.nextEta()?.getTime()).toBeGreaterThan(Date.now() + 500_000);
        // The worker gives back what it holds; the tasks stay what they are.
        await worker.stop();
        await until(() => lab.queues.depths().every(({ reserved }) => reserved === 0));
        const after = await walkPages(lab.tasks, { limit: 100 });
        expect(after.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
        expect(lab.queues.counts()).toEqual({ messages: 12, unreadable: 0 });
      } finally {
        await lab.close();
        await app.close();
      }
    },
    60_000,
  );

  it('are read in spite of tags without a message and messages that are none', async () => {
    await take('a', 1);
    await client.zAdd('unacked_index', { score: 2, value: 'tag-without-message' });
    await take('b', 3, 'no JSON');
    await take('c', 4);
    await client.lPush('celery', ['broken', messageOf('d'), '{}']);
    const lab = openLab(redis.url());
    try {
      await lab.queues.ready();
      expect((await walkPages(lab.tasks, { limit: 2 })).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
      expect(lab.queues.counts()).toEqual({ messages: 6, unreadable: 3 });
      expect(lab.queues.depths()).toEqual([{ name: 'celery', waiting: 3, reserved: 2, consumers: null }]);
      expect((await lab.tasks.listTasks(queryOf(), context)).total).toBe(3);
    } finally {
      await lab.close();
    }
  });

  it('are paged by time, many of one moment too', async () => {
    await client.lPush(
      'celery',
      Array.from({ length: 10_001 }, (_, index) => messageOf(`filler-${index}`)),
    );
    for (let at = 0; at < 40; at += 1) await take(String(at).padStart(2, '0'), at < 30 ? 5.25 : at / 7);
    const lab = openLab(redis.url());
    try {
      await lab.queues.ready();
      expect(lab.queues.held()).toBeNull();
      const ids: string[] = [];
      let after = null;
      while (ids.length < 41) {
        const page = await lab.tasks.listTasks(queryOf({ limit: 7, after }), context);
        ids.push(...page.tasks.map(({ id }) => id));
        after = page.next;
      }
      const byTime = Array.from({ length: 40 }, (_, at) => String(at).padStart(2, '0')).sort((a, b) => {
        const time = (id: string): number => (Number(id) < 30 ? 5.25 : Number(id) / 7);
        return time(a) - time(b) || (a < b ? -1 : 1);
      });
      expect(ids.slice(0, 40)).toEqual(byTime);
      expect(ids[40]).toBe('filler-0');
      expect(lab.queues.depths()).toEqual([
        { name: 'celery', waiting: 10_001, reserved: 40, consumers: null },
      ]);
    } finally {
      await lab.close();
    }
  });

  it('leave no trace once they are acknowledged', async () => {
    for (let at = 0; at < 1200; at += 1) await take(String(at), at);
    const { poll, close } = openPoll(redis.url());
    try {
      await poll.look(0);
      expect(poll.held()?.messages).toHaveLength(1200);
      await client.zRemRangeByRank('unacked_index', 0, 599);
      await poll.look(1000);
      expect(poll.held()?.messages).toHaveLength(600);
      expect(poll.held()?.get('599')).toBeUndefined();
      // One for another at the same place: nothing but the tags tells of it.
      await client.zRem('unacked_index', 'tag-700');
      await take('x', 500);
      await poll.look(10_000);
      expect(poll.held()?.get('700')).toBeUndefined();
      expect(poll.held()?.messages[0]?.facts?.id).toBe('x');
    } finally {
      await close();
    }
  });
});
