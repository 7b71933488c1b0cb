import { createSentinel } from 'redis';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis behind Sentinels'), () => {
  it('is read over a client of node-redis 6, under both names that kombu has for it', async () => {
    const redis = await startRedis();
    const sentinel = await startSentinel(redis.port);
    const root = { host: '127.0.0.1', port: sentinel.port };
    const client = createSentinel({
      name: 'shop',
      sentinelRootNodes: [root],
      nodeClientOptions: { database: 4 },
    });
    client.on('error', () => {});
    const sources = celerySources({
      broker: client,
      settings: {
        broker_url: 'sentinel://inside:26379/4',
        broker_transport_options: { master_name: 'shop' },
      },
    });
    await until(() => sources.tasks.status?.().ok === true);
    const publisher = createClient({ url: redis.url() });
    await publisher.connect();
    await publisher.publish('/4.celeryev/task.multi', received('new'));
    await publisher.publish('/{db}.celeryev/task.multi', received('old'));
    await until(async () => (await stateOf(sources, 'new')) === 'RECEIVED');
    await until(async () => (await stateOf(sources, 'old')) === 'RECEIVED');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await componentOf(sources, 'broker')).toMatchObject({ url: null, config: { database: 4 } });
    await sources.close();
    const monitors = async (): Promise<number> =>
      (await publisher.clientList()).filter(({ db, psub }) => db === 4 || psub > 0).length;
    await until(async () => (await monitors()) === 0);
    publisher.destroy();
    await sentinel.close();
    await redis.close();
  });
});
