import { createClient as createClient5 } from 'redis5';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { checkBroker, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

/** Messages of one burst, each published when Redis has taken the one before. */
const MANY = 300;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a busy deployment'), () => {
  let redis: RedisServer;
  let publisher: ReturnType<typeof createClient>;

  beforeAll(async () => {
    redis = await startRedis();
    publisher = createClient({ url: redis.url() });
    await publisher.connect();
  });

  afterAll(async () => {
    publisher.destroy();
    await redis.close();
  });

  /** Publishes one message after the other, which the source takes in few turns of the event loop. */
  async function expectFewTurns(sources: CelerySources, name: string): Promise<void> {
    const begun = performance.now();
    let turns = 0;
    let last = sources.events.status?.().revision;
    let isOver = false;
    const look = (): void => {
      const revision = sources.events.status?.().revision;
      if (revision !== last) turns += 1;
      last = revision;
      if (!isOver) setImmediate(look);
    };
    look();
    for (let at = 0; at < MANY; at += 1) {
      await publisher.publish('/0.celeryev/task.multi', received(`${name}-${at}`));
    }
    await publisher.publish('/0.celeryev/task.multi', received(`${name}-last`));
    await until(async () => (await stateOf(sources, `${name}-last`)) === 'RECEIVED');
    isOver = true;
    for (let at = 0; at < MANY; at += 1) expect(await stateOf(sources, `${name}-${at}`)).toBe('RECEIVED');
    // Read as they come, they would take a turn each; a slow machine publishes longer, so there are more reads.
    expect(turns).toBeLessThan(MANY / 3 + (performance.now() - begun) / 50);
  }

  it.each([
    ['a URL', () => redis.url()],
    ["the host's client of redis 6", () => createClient({ url: redis.url() })],
    ["the host's client of redis 5", () => createClient5({ url: redis.url() })],
  ])('is read many messages at a time by %s, also after a reconnect', async (_, broker) => {
    const given = broker();
    if (typeof given !== 'string') given.on('error', () => {});
    const sources = celerySources({ broker: given as string, control: false });
    onTestFinished(() => sources.close());
    const isUp = (): boolean => sources.events.status?.().ok === true;
    await until(isUp);
    await expectFewTurns(sources, 'first');
    await publisher.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
    await until(() => !isUp());
    await until(isUp);
    await expectFewTurns(sources, 'second');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
  });
});
