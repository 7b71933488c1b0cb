/** The feed behind the end of the streams: what Redis has trimmed is read from the store. */
import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { TaskEventPage, TaskEventQuery } from '../../src/source.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the feed with a store'), () => {
  let app: BullMQApp;
  let redis: Redis;
  let store: ArrayStore;
  let open: BullMQSources[];

  beforeEach(async () => {
    app = await startBullMQ(bullmq);
    redis = new Redis(app.redis.port, '127.0.0.1');
    store = createArrayStore();
    open = [];
  });

  afterEach(async () => {
    redis.disconnect();
    await Promise.all(open.map((sources) => sources.close()));
    await app.close();
  });

  function instance(kept: ArrayStore | null = store): BullMQSources {
    const sources = bullmqSources({
      queues: [app.queue('mail'), app.queue('image')],
      ...(kept === null ? {} : { store: kept }),
    });
    open.push(sources);
    return sources;
  }

  async function events(sources: BullMQSources, query: Partial<TaskEventQuery> = {}): Promise<TaskEventPage> {
    const asked = { limit: 1_000, since: null, states: [], workers: [], tasks: [], ...query };
    return sources.events.listEvents(asked, context);
  }

  /** Reads on from a position until nothing follows. Oldest first. */
  async function follow(
    sources: BullMQSources,
    since: TaskEventQuery['since'],
    limit = 37,
  ): Promise<{ readonly items: readonly TaskEvent[]; readonly gaps: readonly boolean[]; cursor: string }> {
    const items: TaskEvent[] = [];
    const gaps: boolean[] = [];
    for (let from = since; ; ) {
      const part = await events(sources, { since: from, limit });
      items.push(...part.events.toReversed());
      gaps.push(part.gap);
      if (part.events.length === 0) return { items, gaps, cursor: part.cursor };
      from = { cursor: part.cursor };
    }
  }

  const ids = (list: readonly TaskEvent[]): readonly string[] => list.map(({ id }) => id);
  /** Fields in which items differ, unless one of both is not known: later reads find less of a removed job. */
  const differences = (list: readonly TaskEvent[], others: readonly TaskEvent[]): readonly string[] =>
    list.flatMap((item, at) => {
      const other = others[at];
      return (['id', 'type', 'task', 'taskId', 'state', 'worker', 'detail'] as const).flatMap((field) => {
        const [one, two] = [item[field] ?? null, other?.[field] ?? null];
        return one === two || one === null || two === null ? [] : [`${item.id} ${field}: ${one}, ${two}`];
      });
    });

  /** How many entries of the streams are kept. */
  const kept = (): number => store.rows('bullmq').chunks.reduce((sum, { count }) => sum + count, 0);

  async function run(name: string, count: number): Promise<void> {
    const queue = app.queue(name);
    const worker = app.worker(
      name,
      async ({ data }) => {
        if (data.n % 4 === 3) throw new Error(`password=hunter2 ${data.n}`);
      },
      { name: `${name}-1` },
    );
    const opts = { removeOnComplete: true, removeOnFail: true };
    await queue.addBulk(Array.from({ length: count }, (_, n) => ({ name: 'send', data: { n }, opts })));
    await app.settled(queue, 0, 'wait', 'active');
    await worker.close();
  }

  async function trim(left: number): Promise<void> {
    for (const name of ['mail', 'image']) await redis.xtrim(`bull:${name}:events`, 'MAXLEN', left);
  }

  it('goes on where Redis has trimmed the streams, on every instance and after a restart', async () => {
    const first = instance();
    const start = await events(first);
    await Promise.all([run('mail', 40), run('image', 25)]);
    const plain = instance(null);
    const all = (await events(plain)).events;
    expect(all.length).toBeGreaterThan(190);
    await until(() => kept() >= all.length);
    const cursors = (await follow(plain, { time: new Date(0) })).items.length;
    expect(cursors).toBe(all.length);
    const middle = await events(plain, { since: { time: new Date(0) }, limit: 50 });
    await trim(9);
    await first.close();
    const again = [instance(), instance()];
    for (const sources of again) {
      await until(async () => (await events(sources)).events.length === all.length);
      const newest = await events(sources);
      expect(ids(newest.events)).toEqual(ids(all));
      expect(differences(newest.events, all)).toEqual([]);
      expect(newest.events.filter(({ task }) => task === 'send').length).toBeGreaterThan(170);
      expect((await events(sources, { limit: 30 })).events).toEqual(newest.events.slice(0, 30));
      const failures = all.filter(({ state }) => state === 'FAILURE');
      expect(ids((await events(sources, { states: ['FAILURE'] })).events)).toEqual(ids(failures));
      for (const since of [{ cursor: start.cursor }, { cursor: middle.cursor }]) {
        const rest = await follow(sources, since);
        const expected = since.cursor === middle.cursor ? all.toReversed().slice(50) : all.toReversed();
        expect(ids(rest.items)).toEqual(ids(expected));
        expect(rest.gaps.slice(1)).not.toContain(true);
        if (since.cursor === middle.cursor) expect(rest.gaps[0]).toBe(false);
      }
      const at = middle.events[0]?.timestamp as Date;
      const later = await follow(sources, { time: at });
      expect(later.gaps).not.toContain(true);
      const seen = new Set(ids(later.items));
      const wanted = all.filter(({ timestamp }) => Number(timestamp) > Number(at));
      expect(wanted.filter(({ id }) => !seen.has(id))).toEqual([]);
    }
    // What happens now follows, without a gap.
    const { cursor } = await follow(again[0] as BullMQSources, { cursor: start.cursor });
    await run('mail', 5);
    await until(async () => {
      const next = await follow(again[1] as BullMQSources, { cursor });
      expect(next.gaps).not.toContain(true);
      return next.items.filter(({ type }) => type === 'task-sent').length === 5;
    }, 5_000);
    expect(JSON.stringify(store.rows('bullmq').chunks)).not.toContain('hunter2');
  });

  it('says `gap` where entries were trimmed before they were recorded, and has what is around', async () => {
    const first = instance();
    await run('mail', 20);
    const all = (await events(instance(null))).events;
    await until(() => kept() >= all.length);
    await first.close();
    await run('mail', 20);
    await redis.xtrim('bull:mail:events', 'MAXLEN', 10);
    const second = instance();
    await until(() => kept() > all.length);
    const before = kept();
    await run('mail', 10);
    await until(() => kept() >= before + 30);
    await redis.xtrim('bull:mail:events', 'MAXLEN', 3);
    const sources = instance();
    await until(async () => (await events(sources)).events.length > 20);
    const rest = await follow(sources, { time: new Date(0) });
    expect(ids(rest.items).slice(0, all.length)).toEqual(ids(all.toReversed()));
    expect(rest.gaps.slice(1)).toContain(true);
    // The newest end where something is not known.
    const newest = ids((await events(sources)).events);
    expect(newest.length).toBeGreaterThan(30);
    expect(newest.some((id) => ids(all).includes(id))).toBe(false);
    await second.close();
  });

  it('says `gap` while the store cannot be read, and has what Redis has', async () => {
    const first = instance();
    await run('mail', 20);
    await until(() => kept() >= 60);
    const { cursor } = await events(first, { since: { time: new Date(0) }, limit: 10 });
    await redis.xtrim('bull:mail:events', 'MAXLEN', 8);
    store.before = (call) => {
      if (call.startsWith('feed.')) throw new Error('away');
    };
    const second = instance();
    const page = await events(second, { since: { cursor } });
    expect(page.gap).toBe(true);
    expect(page.events.length).toBe(8);
    expect((await events(second)).events.length).toBe(8);
    store.before = null;
    await until(async () => (await events(second)).events.length > 8);
    expect(await events(second, { since: { cursor } })).toMatchObject({ gap: false });
  });
});
