import { afterEach, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, context } from '../helpers/celery-events.ts';
import { freePort, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';

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
    const error = 'The host name of Redis cannot be resolved.';
    // Until a slow resolver has answered, Redis does not.
    await until(async () => (await checkBroker(sources)).error === error);
    expect(await checkBroker(sources)).toEqual({ ok: false, error });
    await expectNoSecret(sources);
  });

  it('because it never answers does not hold up a check, nor closing', async () => {
    const server = await scriptedRedis(() => null);
    const sources = start({ broker: server.url });
    const before = performance.now();
    expect(await checkBroker(sources, 300)).toEqual({ ok: false, error: 'Redis does not answer.' });
    expect(performance.now() - before).toBeLessThan(3000);
    await sources.close();
    expect(performance.now() - before).toBeLessThan(15_000);
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
    ['AUTH', '-ERR max number of clients reached\r\n', 'Redis has reached its limit of clients.'],
  ])('because %s is answered with %j says: %s', async (command, reply, sentence) => {
    const server = await scriptedRedis((given) =>
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

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a guarded Redis'), () => {
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
    expect(await checkBroker(none)).toEqual({ ok: false, error: 'Redis requires a password.' });
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
    expect((await componentOf(other, 'collector')).config.error).toMatch(/lacks a right/);
    await guarded.close();
  });

  it('without a database of that number says so', async () => {
    const redis = await startRedis();
    const sources = start({ broker: redis.url(99) });
    expect(await checkBroker(sources)).toEqual({
      ok: false,
      error: 'This Redis has no database of that number.',
    });
    await redis.close();
  });
});
