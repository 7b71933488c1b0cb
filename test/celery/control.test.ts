import { describe, expect, it } from 'vitest';
import { freePort, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { useControlLab } from './control-lab.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'remote control'), () => {
  const lab = useControlLab();
  const { control, expectNothingLeft, listener, pong, reply } = lab;

  it('without anybody is answered at once, by nobody', async () => {
    const replies = await control().ask('ping');
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
    const asked = control();
    // Opens the connections: only the answers are to take time.
    expect(await asked.ask('ping')).toMatchObject({ receivers: 0 });
    await listener(pong('w1@a'));
    await listener(() => []);
    const first = await asked.ask('ping', { timeoutMs: 1500 });
    expect(first).toMatchObject({ receivers: 2, isComplete: false });
    expect(first?.tookMs).toBeGreaterThan(1400);
    const second = await asked.ask('ping');
    expect(second).toMatchObject({ receivers: 2, isComplete: false });
    expect([...(second?.values.keys() ?? [])]).toEqual(['w1@a']);
    expect(second?.tookMs).toBeLessThan(40_000);
    // Somebody new is waited for again.
    await listener(() => []);
    const third = await asked.ask('ping', { timeoutMs: 1500 });
    expect(third?.tookMs).toBeGreaterThan(1400);
    await expectNothingLeft();
  });

  it('waits a moment for a worker that others know of, though as many answered as heard it', async () => {
    await listener((ticket) => [...pong('w1@a')(ticket), ...pong('w2@b')(ticket)]);
    const replies = await control({ known: () => ['w2@b'], graceMs: 40_000 }).ask('ping');
    expect([...(replies?.values.keys() ?? [])]).toEqual(['w1@a', 'w2@b']);
    expect(replies).toMatchObject({ receivers: 1, isComplete: true });
    const without = await control({ known: () => ['deaf@c'] }).ask('ping');
    expect(without).toMatchObject({ isComplete: false });
    expect(without?.tookMs).toBeLessThan(40_000);
  });

  it('is told on whichever of the two channels behind a Sentinel somebody listens', async () => {
    const settings = { broker_transport_options: { master_name: 'm' } };
    const { heard } = await listener(pong('w1@a'), settings, ['/{db}.celery.pidbox']);
    expect(await control({ settings }).ask('ping')).toMatchObject({ receivers: 1, isComplete: true });
    expect(heard).toEqual(['ping']);
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
    expect(await asked.ask('ping', { timeoutMs: 300 })).toBeNull();
    own.thaw();
    await until(async () => (await asked.ask('ping')) !== null);
    await asked.close();
    await own.close();

    const nowhere = control({}, `redis://u:SECRET@127.0.0.1:${await freePort()}/0`);
    expect(await nowhere.ask('ping')).toBeNull();
    expect(JSON.stringify(nowhere.problem())).not.toContain('SECRET');
  });
});
