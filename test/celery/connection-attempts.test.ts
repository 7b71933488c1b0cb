import { expect, it, onTestFinished, vi } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

/** Waits without timers, which the test holds. */
async function settled(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

it.skipIf(redisMissing !== null)(
  titleUnless(
    redisMissing,
    'a source is connected within a second of the return of Redis, however long it was away',
  ),
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const sources = celerySources({ broker: redis.url(), control: false });
    onTestFinished(() => sources.close());
    const isUp = (): boolean => sources.events.status?.().ok === true;
    await until(isUp);
    // What passes by this clock is how long the source waits; the machine may take longer.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    // At whichever moment of its pauses Redis returns.
    for (const awayMs of [20_000, 20_500, 21_000, 21_500]) {
      await redis.kill();
      await settled(() => !isUp());
      for (let passed = 0; passed < awayMs; passed += 500) {
        await vi.advanceTimersByTimeAsync(500);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(isUp()).toBe(false);
      await redis.start();
      await vi.advanceTimersByTimeAsync(1_000);
      await settled(isUp);
    }
  },
);
