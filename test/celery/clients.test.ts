import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { componentOf, context, received, stateOf } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { runScript } from '../helpers/run-script.ts';
import { queryOf } from '../helpers/task-query.ts';
import { messageOf } from './queues-lab.ts';

/** The library as a host gets it that has version 5 of the package `redis` installed. */
async function withRedis5(): Promise<typeof celerySources> {
  vi.resetModules();
  vi.doMock('redis', () => ({ createClient: createClient5 }));
  return (await import('../../src/celery.ts')).celerySources;
}

const VERSIONS = [
  { name: 'node-redis 6', create: createClient, load: async () => celerySources },
  { name: 'node-redis 5', create: createClient5 as unknown as typeof createClient, load: withRedis5 },
];

afterEach(() => {
  vi.doUnmock('redis');
  vi.resetModules();
});

/** Resolves when the next socket of this process is connected. */
function firstConnection(): Promise<void> {
  return new Promise((resolve) => {
    const watch = (message: unknown): void => {
      unsubscribe('net.client.socket', watch);
      (message as { readonly socket: Socket }).socket.once('connect', () => resolve());
    };
    subscribe('net.client.socket', watch);
  });
}

/** Runs a script that has `celerySources` in a process of its own; what it prints. */
async function run(script: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runScript(
    `import { celerySources } from './src/celery.ts';\n${script}`,
    args,
  );
  const output = `${stdout}${stderr}`.trim();
  expect(`${output}, exit ${code}`).toMatch(/, exit 0$/);
  return output;
}

it('a host without the package redis is told to install it', async () => {
  // Node looks for a package that is not there, and says so as it does to such a host.
  const hook = `export const resolve = (name, context, next) => next(name === 'redis' ? 'no-such-redis' : name, context);`;
  const register = `import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`;
  const script = `const sources = celerySources({ broker: 'redis://127.0.0.1:1/0' });
    const { error } = await sources.health.checkBroker({ signal: AbortSignal.timeout(5000) });
    console.log(error);
    await sources.close();`;
  const output = await run(script, '--import', `data:text/javascript,${encodeURIComponent(register)}`);
  expect(output).toBe('The package redis is not installed: run npm install redis.');
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis'), () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  async function expectEvents(sources: CelerySources, id: string): Promise<void> {
    await until(() => sources.tasks.status?.().ok === true, 30_000);
    const client = createClient({ url: redis.url() });
    await client.connect();
    await client.publish('/2.celeryev/task.multi', received(id));
    await client.close();
    await until(async () => (await stateOf(sources, id)) === 'RECEIVED');
  }

  async function comesBack(sources: CelerySources): Promise<void> {
    await expectEvents(sources, 'before');
    await redis.kill();
    await until(() => sources.tasks.status?.().ok === false);
    expect(await sources.health.checkBroker?.({ signal: AbortSignal.timeout(3000) })).toMatchObject({
      ok: false,
    });
    await redis.start();
    await expectEvents(sources, 'after');
    // A connection of its own carries the check, and may come back a moment later.
    await until(async () => (await sources.health.checkBroker?.(context))?.ok === true);
  }

  it.each(VERSIONS)('is read and found again by clients of our own made by $name', async ({ load }) => {
    const sources = (await load())({ broker: redis.url(2) });
    await comesBack(sources);
    await sources.close();
  });

  it.each(VERSIONS)(
    "is read and found again over a host's own client of $name, which stays open",
    async ({ create }) => {
      const client = create({ url: redis.url(2), socket: { reconnectStrategy: 100 } });
      client.on('error', () => {});
      await client.connect();
      const sources = celerySources({ broker: client, backend: client });
      expect((await componentOf(sources, 'broker')).url).toBe(redis.url(2));
      await comesBack(sources);
      // Over a client of our own, test/celery/connection.test.ts proves it.
      redis.freeze();
      onTestFinished(() => redis.thaw());
      await until(() => sources.tasks.status?.().ok === false, 40_000);
      redis.thaw();
      await expectEvents(sources, 'thawed');
      await sources.close();
      await until(() => client.isReady);
      expect(await client.ping()).toBe('PONG');
      expect(client.isPubSubActive).toBe(false);
      const clients = async (): Promise<number> => (await client.clientList()).length;
      await until(async () => (await clients()) === 1);
      await client.close();
    },
  );

  it.each(VERSIONS)('that freezes while $name connects is left by close() all the same', async ({ load }) => {
    redis.freeze();
    onTestFinished(() => redis.thaw());
    const connected = firstConnection();
    const sources = (await load())({ broker: redis.url(2) });
    // The kernel takes the connection; the handshake waits.
    await connected;
    const start = performance.now();
    await sources.close();
    expect(performance.now() - start).toBeLessThan(15_000);
    redis.thaw();
    const client = createClient({ url: redis.url() });
    await client.connect();
    await until(async () => (await client.clientList()).length === 1);
    await client.close();
  });

  it('does not keep a process alive that forgot to close, be it there, gone or frozen', async () => {
    const frozen = await startRedis();
    onTestFinished(() => frozen.close());
    frozen.freeze();
    const urls = [redis.url(2), 'redis://127.0.0.1:1/0', frozen.url(2)];
    const output = await run(`
      const [there] = ${JSON.stringify(urls)}.map((url) => celerySources({ broker: url, backend: url }));
      const timer = setInterval(() => {
        if (!there.tasks.status().ok) return;
        clearInterval(timer);
        console.log('up');
      }, 20);`);
    expect(output).toBe('up');
  });

  it.each(VERSIONS)(
    "is asked over a host's client of $name as over our own, whatever that one maps",
    async ({ create }) => {
      const client = create({
        url: redis.url(5),
        RESP: 3,
        keyPrefix: 'host:',
        commandOptions: { typeMapping: { 36: Buffer } },
        clientSideCache: { ttl: 0, maxEntries: 10 },
      } as Parameters<typeof createClient>[0]);
      client.on('error', () => {});
      const writer = createClient({ url: redis.url(5) });
      await writer.connect();
      onTestFinished(() => writer.flushDb().then(() => writer.destroy()));
      await writer.zAdd('unacked_index', { score: 1.5, value: 'tag-taken' });
      await writer.hSet('unacked', 'tag-taken', `[${messageOf('taken')}, "", "celery"]`);
      await writer.lPush('celery', messageOf('waiting'));
      await writer.set(
        'celery-task-meta-stored',
        '{"status": "SUCCESS", "result": "žluť 🐍", "task_id": "stored"}',
      );
      const sources = celerySources({ broker: client, backend: client, control: false });
      onTestFinished(() => sources.close());
      await until(async () => (await sources.queues.listQueues(context))?.[0]?.reserved === 1);
      const listed = async () => (await sources.tasks.listTasks(queryOf(), context)).tasks;
      await until(async () => (await listed()).length === 3);
      expect((await listed()).map(({ id }) => id)).toEqual(['stored', 'taken', 'waiting']);
      expect(await sources.tasks.getTask('stored', context)).toMatchObject({ result: "'žluť 🐍'" });
      expect(client.isOpen).toBe(false);
    },
  );
});
