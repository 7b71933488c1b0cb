/** The log of BullMQ's events, as whoever records writes it. */
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

/** Later than every event. Milliseconds since 1970. */
const LATER = 9_000_000_000_000;

it.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'the log continues behind what another instance has written meanwhile'),
  async () => {
    const server = await startRedis();
    const redis = new Redis(server.port, '127.0.0.1');
    const store = createArrayStore();
    const rows = store.rows('bullmq');
    const sources = bullmqSources({ connection: server.url(), store });
    let release = (): void => {};
    onTestFinished(async () => {
      release();
      await sources.close();
      redis.disconnect();
      await server.close();
    });
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const happens = () => redis.xadd('bull:mail:events', '*', 'event', 'drained');
    const through = () => rows.chunks.map(({ items }) => Number(JSON.parse(items)[0]));
    /** Resolves after so many attempts to take the lease. */
    const attempts = async (count: number): Promise<void> => {
      const calls = () => store.calls.filter((call) => call === 'lease.acquire').length;
      const before = calls();
      await until(() => calls() >= before + count, 60_000);
    };

    store.after = (call) => (call === 'feed.append' ? held : undefined);
    await redis.hset('bull:mail:meta', 'version', 'bullmq:6.7.0');
    await happens();
    await until(() => rows.chunks.length === 1, 60_000);
    // Another instance takes over while the write is under way, writes, and leaves again.
    rows.lease = { holder: 'other', expiresAt: LATER };
    await attempts(5);
    rows.chunks.push({ number: 2, instance: 'other', items: `[${LATER},[]]`, count: 1, addedAt: LATER });
    store.after = null;
    release();
    rows.lease = null;
    await happens();
    await until(() => rows.chunks.length > 2, 60_000);
    const [first, ...later] = through();
    expect(first).toBeLessThan(LATER);
    expect(new Set(later)).toEqual(new Set([LATER]));
  },
);
