import { describe, expect, it } from 'vitest';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { useControlLab } from './control-lab.ts';

const SEPARATOR = '\x06\x16';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what remote control does not send'), () => {
  const lab = useControlLab();
  const { control, listener, pong, reply } = lab;

  it('sends nothing to workers that no message could reach unharmed', async () => {
    const settings = { broker_transport_options: { fanout_prefix: 'mon.' } };
    const { heard } = await listener(() => [], settings);
    const asked = control({ settings });
    expect(await asked.ask('ping')).toBeNull();
    expect(asked.problem()).toMatchObject({ code: 'UNSAFE', missingRights: null });
    expect(heard).toEqual([]);
  });

  it('sends nothing to workers that write bindings in another way', async () => {
    const listeners = '_kombu.binding.celery.pidbox';
    await lab.client.sAdd(listeners, `${SEPARATOR}${SEPARATOR}w1@a.celery.pidbox`);
    const { heard } = await listener(pong('w1@a'));
    const asked = control({ settings: { broker_transport_options: { sep: ':' } } });
    expect(await asked.ask('ping')).toBeNull();
    expect(asked.problem()?.sentence).toMatch(/broker_transport_options\.sep/);
    expect(heard).toEqual([]);
    expect(await lab.client.keys('*')).toEqual([listeners]);
    expect(await control().ask('ping')).toMatchObject({ receivers: 1 });
  });

  it('asks nobody for more than a ping whose answers are not JSON', async () => {
    const odd = (ticket: string): string =>
      JSON.stringify({ ...JSON.parse(reply(ticket, {})), 'content-type': 'application/x-yaml' });
    const { heard } = await listener((ticket) => [odd(ticket)]);
    const asked = control();
    for (const command of ['stats', 'active', 'reserved', 'scheduled', 'conf'] as const) {
      expect(await asked.ask(command)).toMatchObject({ isComplete: false, unreadable: 1 });
    }
    expect(new Set(heard)).toEqual(new Set(['ping']));
  });

  it('asks nobody for what it may not be able to put into JSON', async () => {
    let conf: object = { accept_content: ['json', 'pickle'], broker_transport_options: { a: '<object>' } };
    const { heard } = await listener((ticket, method) => [
      reply(ticket, { 'w1@a': method === 'conf' ? conf : { ok: method } }),
    ]);
    const asked = control();
    for (const command of ['stats', 'reserved', 'scheduled'] as const) {
      const replies = await asked.ask(command);
      expect(replies).toMatchObject({ isComplete: false });
      expect(replies?.values.size).toBe(0);
    }
    expect(await asked.ask('active')).toMatchObject({ isComplete: true });
    expect(new Set(heard)).toEqual(new Set(['ping', 'conf', 'active']));
    expect(heard.filter((method) => method === 'conf')).toHaveLength(1);
    // A worker that comes online may have another configuration.
    conf = {};
    asked.workerOnline('w1@a');
    for (const command of ['stats', 'reserved', 'scheduled'] as const) {
      expect(await asked.ask(command)).toMatchObject({ isComplete: true });
      expect(heard).toContain(command);
    }
  });

  it('switches no events on unless the host allowed it', async () => {
    const { heard } = await listener(pong('w1@a'));
    expect(await control().enableEvents()).toBeNull();
    expect(heard).toEqual([]);
    expect(await control({ mayEnableEvents: true }).enableEvents()).toMatchObject({ isComplete: true });
    expect(heard).toEqual(['enable_events']);
  });
});
