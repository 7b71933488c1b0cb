import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { componentOf, context, feedOf, heartbeat, received, stateOf } from '../helpers/celery-events.ts';
import {
  freePort,
  type RedisServer,
  redisMissing,
  startRedis,
  titleUnless,
  until,
} from '../helpers/redis-server.ts';

const open: CelerySources[] = [];

/** Sources that are closed after the test. */
function start(...args: Parameters<typeof celerySources>): CelerySources {
  const sources = celerySources(...args);
  open.push(sources);
  return sources;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((sources) => sources.close()));
});

const isUp = (sources: CelerySources) => () => sources.tasks.status?.().ok === true;
const isDown = (sources: CelerySources) => () => sources.tasks.status?.().ok === false;

/** The broker's check, as `/healthcheck` asks for it, given up after a while. */
async function checkBroker(
  sources: CelerySources,
  ms = 5000,
): Promise<{ ok: boolean | null; error?: string | null }> {
  return (await sources.health.checkBroker?.({ signal: AbortSignal.timeout(ms) })) ?? { ok: null };
}

/** A server that answers every command as told; `null`: not at all. */
async function scripted(
  answer: (command: string) => string | null,
): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      // One command to a chunk is enough here: each waits for the answer to the one before.
      for (const command of chunk.toString('latin1').split(/(?=\*\d+\r\n)/)) {
        const reply = answer(command.split('\r\n')[2]?.toUpperCase() ?? '');
        if (reply !== null) socket.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `redis://:SECRET@127.0.0.1:${port}/0`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a Redis that cannot be read', () => {
  /** Every sentence and component must be free of what the URL holds. */
  async function expectNoSecret(sources: CelerySources): Promise<void> {
    const components = await sources.components.listComponents(context);
    expect(JSON.stringify([components, sources.tasks.status?.()])).not.toContain('SECRET');
  }

  it('because nothing listens there is told so, and data answers as unavailable', async () => {
    const sources = start({ broker: `redis://u:SECRET@127.0.0.1:${await freePort()}/0` });
    expect(await checkBroker(sources)).toEqual({
      ok: false,
      error: 'Redis refuses connections: nothing listens at that address.',
    });
    await until(async () => (await componentOf(sources, 'broker')).status === 'down');
    expect(sources.tasks.status?.()).toMatchObject({ ok: false, asOf: null, error: 'source_unavailable' });
    expect(await sources.health.checkWorkers?.({ ...context, ping: false })).toMatchObject({ ok: false });
    expect((await componentOf(sources, 'collector')).config.error).toMatch(/refuses connections/);
    await expectNoSecret(sources);
  });

  it('because its name is not known is told so', async () => {
    const sources = start({ broker: 'redis://u:SECRET@no-such-host.invalid/0' });
    expect(await checkBroker(sources)).toEqual({ ok: false, error: 'The host name of Redis is not known.' });
    await expectNoSecret(sources);
  });

  it('because it never answers does not hold up a check, nor closing', async () => {
    const server = await scripted(() => null);
    const sources = start({ broker: server.url });
    const before = performance.now();
    expect(await checkBroker(sources, 300)).toEqual({ ok: false, error: 'Redis does not answer.' });
    expect(performance.now() - before).toBeLessThan(3000);
    await sources.close();
    expect(performance.now() - before).toBeLessThan(4500);
    await server.close();
  });

  it.each([
    ['PING', '-LOADING Redis is loading the dataset in memory\r\n', 'Redis is loading its data.'],
    ['PING', '-MASTERDOWN Link with MASTER is down\r\n', 'Redis has lost its master.'],
    ['PING', '-BUSY SECRET is running\r\n', 'Redis is busy running a script.'],
    ['PING', '-SECRET is wrong\r\n', 'Redis cannot be reached.'],
    ['PING', 'HTTP/1.1 400 SECRET\r\n\r\n', 'Redis cannot be reached.'],
    ['AUTH', '-WRONGPASS invalid username-password pair\r\n', 'Redis refuses the user name or password.'],
    ['AUTH', '-ERR invalid password\r\n', 'Redis refuses the user name or password.'],
    [
      'AUTH',
      '-ERR Client sent AUTH, but no password is set\r\n',
      'This Redis has no password set, but one was given.',
    ],
    ['AUTH', '-ERR max number of clients reached\r\n', 'Redis has no connection left for another client.'],
  ])('because %s is answered with %j says: %s', async (command, reply, sentence) => {
    const server = await scripted((given) =>
      given === command ? reply : given === 'PING' ? '+PONG\r\n' : '+OK\r\n',
    );
    const sources = start({ broker: server.url });
    const health = await checkBroker(sources, 2000);
    expect(health.ok).toBe(false);
    expect(health.error).toBe(sentence);
    await expectNoSecret(sources);
    await server.close();
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis'), () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  async function publish(channel: string, message: string, database = 0): Promise<number> {
    const client = createClient({ url: redis.url(database), socket: { reconnectStrategy: false } });
    client.on('error', () => {});
    await client.connect();
    const count = await client.publish(channel, message);
    await client.close();
    return count;
  }

  it('on which broker and backend are databases is read over one connection', async () => {
    const sources = start({ broker: redis.url(1), backend: redis.url(2) });
    await until(isUp(sources));
    expect(await publish('/1.celeryev/task.multi', received('a'))).toBe(1);
    expect(await publish('celery-task-meta-a', '{"status": "SUCCESS", "result": 1, "task_id": "a"}')).toBe(1);
    await until(async () => (await stateOf(sources, 'a')) === 'SUCCESS');
    expect(await componentOf(sources, 'backend')).toMatchObject({
      status: 'up',
      url: redis.url(2),
      config: { transport: 'redis', database: 2, error: null },
    });
    expect((await componentOf(sources, 'collector')).config).toMatchObject({
      channels: ['/1.celeryev/*', 'celery-task-meta-*'],
      messages: 2,
      dropped: 0,
      reconnects: 0,
      error: null,
    });
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
  });

  it('with a backend elsewhere is read as long as either is there, and says when one is not', async () => {
    const second = await startRedis();
    const sources = start({ broker: redis.url(), backend: second.url() });
    await until(isUp(sources));
    await publish('/0.celeryev/task.multi', received('b'));
    await until(async () => (await stateOf(sources, 'b')) === 'RECEIVED');
    await second.kill();
    await until(isDown(sources));
    expect(sources.workers.status?.().ok).toBe(true);
    await publish('/0.celeryev/task.multi', received('c'));
    await until(async () => (await stateOf(sources, 'c')) === 'RECEIVED');
    expect(sources.tasks.status?.().asOf).toBeInstanceOf(Date);
    expect((await sources.health.checkBackend?.({ signal: AbortSignal.timeout(5000) }))?.ok).toBe(false);
    expect((await componentOf(sources, 'backend')).status).toBe('down');
    expect((await componentOf(sources, 'broker')).status).toBe('up');
    await second.close();
  });

  it('counts what it cannot read, and goes on', async () => {
    const sources = start({ broker: redis.url(), backend: redis.url() });
    await until(isUp(sources));
    for (const message of ['', 'nope', '{}', '[]', '{"body": 3}']) await publish('/0.celeryev/x', message);
    for (const message of ['', '\u0080pickle', '3']) await publish('celery-task-meta-x', message);
    await publish('/0.celeryev/task.multi', received('d'));
    await until(async () => (await stateOf(sources, 'd')) === 'RECEIVED');
    expect((await componentOf(sources, 'collector')).config).toMatchObject({ messages: 9, dropped: 8 });
    expect((await sources.history.getHistoryStats(context)).dropped).toBe(8);
  });

  it('with no result backend answers that there is none', async () => {
    const sources = start({ broker: redis.url(), settings: { result_backend: 'db+sqlite:///SECRET' } });
    expect(sources.health.checkBackend).toBeUndefined();
    expect(await componentOf(sources, 'backend')).toMatchObject({
      status: 'unknown',
      config: { transport: 'db+sqlite', hints: [expect.stringMatching(/events alone/)] },
    });
    const without = start({ broker: redis.url() });
    expect((await componentOf(without, 'backend')).status).toBe('disabled');
  });

  it('without a database of that number says so', async () => {
    const sources = start({ broker: redis.url(99) });
    expect(await checkBroker(sources)).toEqual({
      ok: false,
      error: 'This Redis has no database of that number.',
    });
  });

  it('judges workers by their heartbeats', async () => {
    const sources = start({ broker: redis.url() });
    const check = () => sources.health.checkWorkers?.({ ...context, ping: false });
    await until(isUp(sources));
    expect(await check()).toMatchObject({
      ok: false,
      responding: [],
      error: expect.stringMatching(/No worker/),
    });
    await publish('/0.celeryev/worker.heartbeat', heartbeat());
    await until(async () => (await check())?.ok === true);
    expect(await check()).toEqual({ ok: true, error: null, responding: ['w1@alpha'], missing: [] });
  });

  it('that freezes is noticed though its connections stay open, and followed again when it thaws', async () => {
    const sources = start({ broker: redis.url() });
    await until(isUp(sources));
    await publish('/0.celeryev/task.multi', received('e'));
    await until(async () => (await stateOf(sources, 'e')) === 'RECEIVED');
    const { cursor } = await sources.events.listEvents(
      { limit: 1, since: null, states: [], workers: [], tasks: [] },
      context,
    );
    redis.freeze();
    await until(isDown(sources), 40_000);
    const { asOf } = sources.tasks.status?.() ?? {};
    expect(Date.now() - (asOf?.getTime() ?? 0)).toBeGreaterThan(1000);
    expect(await checkBroker(sources, 200)).toEqual({ ok: false, error: 'Redis does not answer.' });
    expect(await stateOf(sources, 'e')).toBe('RECEIVED');
    redis.thaw();
    await until(isUp(sources), 30_000);
    expect((await feedOf(sources, cursor)).gap).toBe(true);
    expect((await componentOf(sources, 'collector')).config.reconnects).toBe(1);
  });

  it('with a password is read with it, and refused without', async () => {
    const guarded = await startRedis('--requirepass', 'SE/CRET');
    const url = (auth: string): string => guarded.url().replace('redis://', `redis://${auth}`);
    const right = start({ broker: url(':SE%2FCRET@') });
    await until(isUp(right));
    expect(await checkBroker(right)).toEqual({ ok: true, error: null });
    const wrong = start({ broker: url(':nope@') });
    expect(await checkBroker(wrong)).toEqual({
      ok: false,
      error: 'Redis refuses the user name or password.',
    });
    const none = start({ broker: url('') });
    expect(await checkBroker(none)).toEqual({ ok: false, error: 'Redis asks for a password.' });
    expect(
      JSON.stringify([await componentOf(right, 'broker'), await componentOf(wrong, 'broker')]),
    ).not.toMatch(/CRET/);
    await guarded.close();
  });

  it('is read by a user that may do nothing but subscribe and ask for a sign of life', async () => {
    const channels = ['&/0.celeryev/*', '&celery-task-meta-*'];
    const guarded = await startRedis(
      '--user',
      'mon',
      'on',
      '>pw',
      ...channels,
      '-@all',
      '+psubscribe',
      '+ping',
    );
    const sources = start({
      broker: guarded.url().replace('redis://', 'redis://mon:pw@'),
      backend: guarded.url().replace('redis://', 'redis://mon:pw@'),
    });
    await until(isUp(sources));
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    const other = start({
      broker: guarded.url().replace('redis://', 'redis://mon:pw@'),
      settings: { event_exchange: 'other' },
    });
    await until(async () => (await componentOf(other, 'collector')).status === 'down');
    expect((await componentOf(other, 'collector')).config.error).toMatch(/may not do/);
    await guarded.close();
  });

  it('is left without a trace by close()', async () => {
    const resources = (): number =>
      process.getActiveResourcesInfo().filter((name) => /^(?:TCP|Timeout|Pipe)/.test(name)).length;
    const before = resources();
    const client = createClient({ url: redis.url() });
    await client.connect();
    const clients = async (): Promise<number> => (await client.clientList()).length;
    const sources = celerySources({ broker: redis.url(), backend: redis.url(3) });
    await until(isUp(sources));
    await checkBroker(sources);
    await sources.health.checkBackend?.(context);
    const start = performance.now();
    await Promise.all([sources.close(), sources.close()]);
    expect(performance.now() - start).toBeLessThan(1500);
    await until(async () => (await clients()) === 1);
    await client.close();
    await until(() => resources() <= before);
    expect(sources.tasks.status?.().ok).toBe(false);
    expect(await stateOf(sources, 'a')).toBeNull();
    expect(await checkBroker(sources)).toMatchObject({ ok: false });
  });
});
