import { describe, expect, it, type TestContext } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { componentOf, heartbeat, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const META = '{"status": "SUCCESS", "result": 1, "name": "shop.pay", "task_id": "a"}';

/** A Redis of a test's own, since everybody hears what is published in one. */
async function startLab({ onTestFinished }: TestContext) {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const client = createClient({ url: redis.url() });
  await client.connect();
  onTestFinished(() => client.destroy());

  function start(options: CelerySourcesOptions): CelerySources {
    const sources = celerySources({ control: false, ...options });
    onTestFinished(() => sources.close());
    return sources;
  }

  /** Publishes for as long as the test takes. */
  function publishing(channel: string, message: () => string): void {
    const timer = setInterval(() => void client.publish(channel, message()).catch(() => {}), 50);
    onTestFinished(() => clearInterval(timer));
  }

  async function storeIn(database: number, key: string): Promise<void> {
    const other = createClient({ url: redis.url(database) });
    await other.connect();
    await other.set(key, META);
    other.destroy();
  }
  return { redis, client, start, publishing, storeIn };
}

async function hintsOf(sources: CelerySources, key: string): Promise<readonly string[]> {
  return (await componentOf(sources, key)).config.hints as string[];
}

/** What a hint of a component says to write, once it does. */
async function lineOf(sources: CelerySources, key: string, start: RegExp): Promise<string> {
  let line = '';
  await until(async () => {
    const hint = (await hintsOf(sources, key)).find((text) => start.test(text)) ?? '';
    line = /(?:[Ww]rite|run) (.+?)\.?$/.exec(hint)?.[1] ?? '';
    return line !== '';
  });
  return line;
}

/** What a line that names options of this source makes of them. */
function optionsOf(line: string, redis: RedisServer): CelerySourcesOptions {
  const text = line.replace(/redis:\/\/…\/(\d+)/g, (_, database) => redis.url(Number(database)));
  return new Function(`return ({ ${text} })`)() as CelerySourcesOptions;
}

const ELSEWHERE = /^Events are published on/;

// They mostly wait: a source looks elsewhere once it has heard nothing for ten seconds.
describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'a source that hears nothing'),
  { concurrent: true, timeout: 180_000 },
  () => {
    it.for([
      ['another database and prefix', 'shop:/1.celeryev/worker.heartbeat', 'shop:/1.celeryev'],
      ['another exchange', '/0.labev/worker.heartbeat', '/0.labev'],
      ['no prefix of the database', 'celeryev/worker.heartbeat', 'celeryev'],
    ])('names the channels that carry events, with %s', async ([, channel = '', name = ''], test) => {
      const { redis, start, publishing } = await startLab(test);
      publishing(channel, heartbeat);
      const sources = start({ broker: redis.url(0), backend: redis.url(0) });
      await until(async () => (await hintsOf(sources, 'broker')).length > 0);
      expect(await hintsOf(sources, 'broker')).toEqual([
        `Events are published on ${name}, and none on /0.celeryev, where this source listens. If they belong to this app, ` +
          'write its broker_url as broker, and its event_exchange and broker_transport_options as settings.',
      ]);
    });

    it('no longer says so when events come after all', async (test) => {
      const { redis, start, publishing } = await startLab(test);
      publishing('/0.labev/worker.heartbeat', heartbeat);
      const sources = start({ broker: redis.url(), backend: redis.url() });
      await until(async () => ELSEWHERE.test(String(await hintsOf(sources, 'broker'))));
      publishing('/0.celeryev/worker.heartbeat', heartbeat);
      await until(async () => (await hintsOf(sources, 'broker')).length === 0);
    });

    it('finds the prefix by keys when no worker sends anything', async (test) => {
      const { redis, client, start } = await startLab(test);
      await client.sAdd('shop:_kombu.binding.celery', 'x');
      const sources = start({ broker: redis.url(), backend: redis.url() });
      const line = await lineOf(sources, 'broker', /^Database 0 has no Celery queues without a prefix, but/);
      expect(optionsOf(line, redis)).toEqual({
        settings: { broker_transport_options: { global_keyprefix: 'shop:' } },
      });
    });

    it('finds the database by keys when no worker sends anything, until one does', async (test) => {
      const { redis, client, start, storeIn } = await startLab(test);
      await storeIn(3, '_kombu.binding.celery');
      const sources = start({ broker: redis.url(), backend: redis.url() });
      expect(optionsOf(await lineOf(sources, 'broker', /./), redis)).toEqual({ broker: redis.url(3) });
      await client.publish('/0.celeryev/worker.heartbeat', heartbeat());
      await until(async () => (await hintsOf(sources, 'broker')).length === 0);
    });

    it('finds the prefix of results by what is published, and by keys', async (test) => {
      const { redis, client, start, publishing } = await startLab(test);
      publishing('acme_celery-task-meta-a', () => META);
      await client.set('other:celery-task-meta-a', META);
      const sources = start({ broker: redis.url(), backend: redis.url() });
      const line = await lineOf(sources, 'backend', /^Results are stored as/);
      expect(await hintsOf(sources, 'backend')).toEqual([
        expect.stringMatching(
          /^Results are stored as acme_celery-task-meta-\* and other:celery-task-meta-\*, and none as/,
        ),
      ]);
      const [first = ''] = line.split(' or ');
      const mended = start({ broker: redis.url(), backend: redis.url(), ...optionsOf(first, redis) });
      await until(async () => (await stateOf(mended, 'a')) === 'SUCCESS');
    });

    it('finds the database that results are stored in when it hears them from another', async (test) => {
      const { redis, start, publishing, storeIn } = await startLab(test);
      await storeIn(2, 'celery-task-meta-a');
      publishing('celery-task-meta-a', () => META);
      publishing('/0.celeryev/worker.heartbeat', heartbeat);
      const sources = start({ broker: redis.url(), backend: redis.url(1) });
      const line = await lineOf(sources, 'backend', /database/i);
      expect(optionsOf(line, redis)).toEqual({ backend: redis.url(2) });
    });

    it('says which right would let it look, when it may not, and writes nothing', async (test) => {
      const { redis, client, start, publishing } = await startLab(test);
      const rights = '+ping +select +psubscribe &/0.celeryev/* &celery-task-meta-*';
      await client.sendCommand(`ACL SETUSER mon on >pw resetkeys resetchannels -@all ${rights}`.split(' '));
      const url = redis.url(0).replace('//', '//mon:pw@');
      const sources = start({ broker: url, backend: url });
      const line = await lineOf(sources, 'broker', /&\*celeryev\*/);
      publishing('/4.celeryev/worker.heartbeat', heartbeat);
      await client.sendCommand(line.replace('<user>', 'mon').split(' '));
      const allowed = start({ broker: url, backend: url });
      await until(async () => String(await hintsOf(allowed, 'broker')).includes('published on /4.celeryev'));
      expect(
        JSON.stringify([await hintsOf(sources, 'broker'), await hintsOf(allowed, 'broker')]),
      ).not.toMatch(/pw@|127\.0\.0\.1/);
      expect(await client.dbSize()).toBe(0);
    });

    it('looks once for each connection', async (test) => {
      const { redis, client, start } = await startLab(test);
      const opened = async (): Promise<number> =>
        Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1]);
      const open = async (): Promise<number> =>
        String(await client.sendCommand(['CLIENT', 'LIST']))
          .trim()
          .split('\n').length;
      const sources = start({ broker: redis.url(), backend: redis.url() });
      await until(() => sources.tasks.status?.().ok === true);
      const watching = await open();
      await until(async () => (await open()) > watching);
      await until(async () => (await open()) <= watching);
      const after = await opened();
      await client.sAdd('shop:_kombu.binding.celery', 'x');
      expect(await hintsOf(sources, 'broker')).toEqual([]);
      expect(await opened()).toBe(after);
      await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
      await lineOf(sources, 'broker', /^Database 0 has no Celery queues/);
    });

    it('closes at once, whatever it is doing', async (test) => {
      const { redis, client, start } = await startLab(test);
      const open = async (): Promise<number> =>
        String(await client.sendCommand(['CLIENT', 'LIST']))
          .trim()
          .split('\n').length;
      const sources = start({ broker: redis.url(), backend: redis.url() });
      await until(() => sources.tasks.status?.().ok === true);
      const watching = await open();
      await until(async () => (await open()) > watching);
      const before = performance.now();
      await sources.close();
      expect(performance.now() - before).toBeLessThan(24_000);
      await until(async () => (await open()) === 1);
    });
  },
);
