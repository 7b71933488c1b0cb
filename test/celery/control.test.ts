import { createClient } from 'redis';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { controlAddress } from '../../src/sources/celery/control/address.ts';
import {
  type Control,
  type ControlOptions,
  createControl,
} from '../../src/sources/celery/control/control.ts';
import { brokerEndpoint } from '../../src/sources/celery/endpoints.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import {
  freePort,
  type RedisServer,
  redisMissing,
  startRedis,
  titleUnless,
  until,
} from '../helpers/redis-server.ts';

type Client = ReturnType<typeof createClient>;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'remote control'), () => {
  let redis: RedisServer;
  let client: Client;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
    return async () => {
      client.destroy();
      await redis.close();
    };
  });

  beforeEach(() => client.flushAll());

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  function control(more: Partial<ControlOptions> = {}, url = redis.url()): Control {
    const settings = more.settings ?? {};
    const endpoint = brokerEndpoint(url, settings);
    const made = createControl({ endpoint, settings, known: () => [], ...more });
    ends.push(() => made.close());
    return made;
  }

  /** Something that hears messages as a worker does; `answer` makes the elements of the reply list. */
  async function listener(
    answer: (ticket: string, method: string) => string[],
    settings: CelerySettings = {},
  ): Promise<{ heard: string[] }> {
    const heard: string[] = [];
    const own = client.duplicate();
    await own.connect();
    const address = controlAddress(settings, 0);
    await own.pSubscribe([...address.channels], async (message) => {
      const { method, ticket, reply_to } = JSON.parse(
        Buffer.from(JSON.parse(message).body, 'base64').toString(),
      );
      heard.push(method);
      for (const reply of answer(ticket, method))
        await client.lPush(address.replyKey(reply_to.routing_key), reply);
    });
    ends.push(async () => own.destroy());
    return { heard };
  }

  function reply(ticket: string, body: object): string {
    return JSON.stringify({
      body: Buffer.from(JSON.stringify(body)).toString('base64'),
      'content-type': 'application/json',
      headers: { ticket },
      properties: { body_encoding: 'base64' },
    });
  }

  const pong = (name: string) => (ticket: string) => [reply(ticket, { [name]: { ok: 'pong' } })];

  /** Once no question is asked any more, nothing is in Redis. */
  async function expectNothingLeft(): Promise<void> {
    await until(async () => (await client.dbSize()) === 0);
  }

  it('without anybody is answered at once, by nobody', async () => {
    const replies = await control().ask('ping', { timeoutMs: 10_000 });
    expect(replies).toMatchObject({ receivers: 0, isComplete: true, unnamed: 0, errors: 0 });
    expect(replies?.values.size).toBe(0);
    await expectNothingLeft();
  });

  it('gives each of several questions at the same time its own answers, and one question one broadcast', async () => {
    const { heard } = await listener((ticket) => [reply(ticket, { 'w1@a': ticket })]);
    const asked = control();
    const [first, same, other] = await Promise.all([
      asked.ask('registered'),
      asked.ask('registered'),
      asked.ask('active_queues'),
    ]);
    expect(same).toBe(first);
    // One ping tells both questions who can be asked.
    expect(heard.sort()).toEqual(['active_queues', 'ping', 'registered']);
    expect(first?.values.get('w1@a')).not.toEqual(other?.values.get('w1@a'));
    expect(await asked.ask('registered')).not.toBe(first);
    await expectNothingLeft();
  });

  it('passes over what is no answer of its own', async () => {
    await listener((ticket) => [
      'no JSON',
      '[]',
      reply('another ticket', { 'w9@z': 1 }),
      reply(ticket, []),
      reply(ticket, { '': 1 }),
      reply(ticket, { 'w1@a': { ok: 'pong' } }),
    ]);
    const replies = await control().ask('ping');
    expect([...(replies?.values ?? [])]).toEqual([['w1@a', { ok: 'pong' }]]);
    expect(replies).toMatchObject({ receivers: 1, isComplete: true });
    await expectNothingLeft();
  });

  it('tells errors and answers that cannot be read as such', async () => {
    await listener((ticket) => [reply(ticket, { 'w1@a': { error: 'KeyError()' } })]);
    await listener((ticket) => [
      JSON.stringify({ ...JSON.parse(reply(ticket, {})), 'content-type': 'application/x-thing' }),
    ]);
    const replies = await control().ask('ping');
    expect(replies).toMatchObject({ receivers: 2, isComplete: true, errors: 1, unreadable: 1, unnamed: 1 });
    expect([...(replies?.values ?? [])]).toEqual([['w1@a', null]]);
  });

  it('waits for the deadline for who does not answer, and then for a while only for those who do', async () => {
    await listener(pong('w1@a'));
    await listener(() => []);
    const asked = control();
    const first = await asked.ask('ping', { timeoutMs: 1500 });
    expect(first).toMatchObject({ receivers: 2, isComplete: false });
    expect(first?.tookMs).toBeGreaterThan(1400);
    const second = await asked.ask('ping', { timeoutMs: 15_000 });
    expect(second).toMatchObject({ receivers: 2, isComplete: false });
    expect([...(second?.values.keys() ?? [])]).toEqual(['w1@a']);
    expect(second?.tookMs).toBeLessThan(5000);
    // Somebody new is waited for again.
    await listener(() => []);
    const third = await asked.ask('ping', { timeoutMs: 1500 });
    expect(third?.tookMs).toBeGreaterThan(1400);
    await expectNothingLeft();
  });

  it('waits a moment for a worker that others know of, though as many answered as heard it', async () => {
    await listener((ticket) => [...pong('w1@a')(ticket), ...pong('w2@b')(ticket)]);
    const replies = await control({ known: () => ['w2@b'] }).ask('ping');
    expect([...(replies?.values.keys() ?? [])]).toEqual(['w1@a', 'w2@b']);
    expect(replies).toMatchObject({ receivers: 1, isComplete: true });
    const without = await control({ known: () => ['deaf@c'] }).ask('ping', { timeoutMs: 15_000 });
    expect(without).toMatchObject({ isComplete: false });
    expect(without?.tookMs).toBeLessThan(5000);
  });

  it('is told on whichever of the two channels behind a Sentinel somebody listens', async () => {
    const settings = { broker_transport_options: { master_name: 'm' } };
    const old = client.duplicate();
    await old.connect();
    let heard = 0;
    await old.pSubscribe('/{db}.celery.pidbox', () => {
      heard += 1;
    });
    ends.push(async () => old.destroy());
    expect(await control({ settings }).ask('ping', { timeoutMs: 100 })).toMatchObject({ receivers: 1 });
    expect(heard).toBe(1);
  });

  it('of a Redis that is away answers nothing, and works again when it is back', async () => {
    const own = await startRedis();
    const asked = control({}, own.url());
    expect(await asked.ask('ping')).toMatchObject({ receivers: 0 });
    await own.kill();
    await until(async () => (await asked.ask('ping')) === null);
    expect(asked.problem()).not.toBeNull();
    expect(asked.problem()?.missingRights).toBeNull();
    await own.start();
    await until(async () => (await asked.ask('ping')) !== null);
    expect(asked.problem()).toBeNull();
    own.freeze();
    const before = performance.now();
    expect(await asked.ask('ping', { timeoutMs: 300 })).toBeNull();
    expect(performance.now() - before).toBeLessThan(5000);
    own.thaw();
    await until(async () => (await asked.ask('ping')) !== null);
    await asked.close();
    await own.close();

    const nowhere = control({}, `redis://u:SECRET@127.0.0.1:${await freePort()}/0`);
    expect(await nowhere.ask('ping')).toBeNull();
    expect(JSON.stringify(nowhere.problem())).not.toContain('SECRET');
  });
});
