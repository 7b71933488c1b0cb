import { readFileSync } from 'node:fs';
import { connect } from 'amqplib';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { permissionsFor } from '../../src/sources/celery/brokers/amqp/permissions.ts';
import { context } from '../helpers/celery-events.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { type Heard, useRabbitLab } from './amqp-lab.ts';

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'remote control over RabbitMQ'), () => {
  const { control, worker, rabbit, virtualHost, names } = useRabbitLab();

  it('sends to all workers what Celery sends, and ends when those that are known have answered', async () => {
    const { heard } = await worker('w1@x');
    await worker('w2@x');
    const asked = control({ known: () => ['w1@x', 'w2@x'] });
    const before = Date.now() / 1000;
    const replies = await asked.ask('ping');
    expect(replies).toMatchObject({ receivers: null, isComplete: true, errors: 0, unreadable: 0 });
    expect([...(replies?.values ?? [])].sort()).toEqual([
      ['w1@x', { ok: 'pong' }],
      ['w2@x', { ok: 'pong' }],
    ]);
    const [{ message, body }] = heard as [Heard];
    expect(message.properties).toMatchObject({
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      deliveryMode: 1,
    });
    const { headers } = message.properties;
    expect(Object.keys(headers ?? {}).sort()).toEqual(['clock', 'expires']);
    expect(headers?.clock).toBe(1);
    expect(headers?.expires).toBeGreaterThan(before);
    expect(Object.keys(body)).toEqual([
      'method',
      'arguments',
      'destination',
      'pattern',
      'matcher',
      'ticket',
      'reply_to',
    ]);
  });

  it('asks named workers alone', async () => {
    const first = await worker('w1@x', { answer: ({ body }) => (body.method === 'conf' ? {} : { ok: 1 }) });
    const second = await worker('w2@x', { answer: ({ body }) => (body.method === 'ping' ? undefined : {}) });
    const replies = await control({ known: () => ['w1@x'] }).ask('active_queues');
    expect([...(replies?.values.keys() ?? [])]).toEqual(['w1@x']);
    expect(first.heard.at(-1)?.body).toMatchObject({ method: 'active_queues', destination: ['w1@x'] });
    expect(second.heard.length).toBeGreaterThan(0);
  });

  it('reaches workers whatever the properties of their queues are, which Celery 5.6 lets its users choose', async () => {
    await worker('durable@x', { queue: { durable: true } });
    await worker('exclusive@x', { queue: { durable: false, exclusive: true } });
    const replies = await control({ known: () => ['durable@x', 'exclusive@x'] }).ask('ping');
    expect(replies).toMatchObject({ isComplete: true });
  });

  it('uses the exchanges that the settings name', async () => {
    const settings = { control_exchange: 'shop' };
    await worker('w1@x', { settings });
    expect(await control({ settings, known: () => ['w1@x'] }).ask('ping')).toMatchObject({
      isComplete: true,
    });
    expect((await names('exchanges')).sort()).toEqual(['reply.shop.pidbox', 'shop.pidbox']);
  });

  it('creates nothing where no worker has ever listened, and knows at once that none does', async () => {
    const asked = control();
    expect(await asked.ask('ping')).toMatchObject({ receivers: 0, isComplete: true });
    expect(asked.problem()).toBeNull();
    expect(await names('exchanges')).toEqual([]);
    expect(await names('queues')).toEqual([]);
    await (await worker('w1@x')).leave();
    await until(async () => (await names('queues')).length === 0);
    expect(await asked.ask('ping')).toMatchObject({ receivers: 0, isComplete: true });
  });

  it('receives replies in one queue that only its connection can use, and removes it', async () => {
    await worker('w1@x');
    const asked = control({ known: () => ['w1@x'] });
    await Promise.all([asked.ask('ping'), asked.ask('registered'), asked.ask('active')]);
    const own = (await rabbit().queues(virtualHost())).filter(({ name }) => !name.startsWith('w1@x'));
    expect(own).toEqual([
      expect.objectContaining({
        name: expect.stringMatching(/^express-task-monitor\.[\da-f-]{36}\.reply\.celery\.pidbox$/),
        exclusive: true,
        durable: false,
        arguments: { 'x-max-length': 10_000 },
      }),
    ]);
    const exchanges = await rabbit().manage<{ name: string }[]>('GET', `exchanges/${virtualHost()}`);
    expect(exchanges.filter(({ name }) => name.endsWith('.pidbox'))).toEqual(
      ['celery.pidbox', 'reply.celery.pidbox'].map((name) =>
        expect.objectContaining({
          name,
          type: name === 'celery.pidbox' ? 'fanout' : 'direct',
          durable: false,
          auto_delete: false,
        }),
      ),
    );
    await asked.close();
    expect(await names('queues')).toEqual(['w1@x.celery.pidbox']);
  });

  it('removes its queue also from a connection that belongs to the host, and leaves that open', async () => {
    await worker('w1@x');
    const connection = await connect(rabbit().url(virtualHost()));
    const sources = celerySources({ broker: connection });
    await until(async () => (await sources.workers.listWorkers(context))[0]?.hostname === 'w1@x');
    expect((await names('queues')).filter((name) => name.startsWith('express'))).toHaveLength(2);
    await sources.close();
    expect(await names('queues')).toEqual(['w1@x.celery.pidbox']);
    await (await connection.createChannel()).close();
    await connection.close();
  });

  it('drops replies that come late, and those to others', async () => {
    const slow = await worker('slow@x', { answer: () => undefined });
    const asked = control({ known: () => ['slow@x'] });
    expect(await asked.ask('ping', { timeoutMs: 500 })).toMatchObject({ isComplete: false });
    const [first] = slow.heard as [Heard];
    const second = asked.ask('ping');
    await until(() => slow.heard.length === 2);
    await slow.reply(first, { ok: 'late' });
    await slow.reply({ ...first, body: { ...first.body, ticket: 'of another client' } });
    await slow.reply(slow.heard[1] as Heard);
    expect((await second)?.values.get('slow@x')).toEqual({ ok: 'pong' });
  });

  it('works again after the exchange of replies was deleted, and after its connection was closed', async () => {
    await worker('w1@x');
    const asked = control({ known: () => ['w1@x'] });
    const isAnswered = async (): Promise<boolean> =>
      (await asked.ask('ping', { timeoutMs: 2_000 }))?.values.has('w1@x') === true;
    expect(await isAnswered()).toBe(true);
    // Takes the binding of the queue of replies with it.
    await rabbit().manage('DELETE', `exchanges/${virtualHost()}/reply.celery.pidbox`);
    await asked.ask('ping', { timeoutMs: 200 });
    expect(await isAnswered()).toBe(true);
    // Only our connection may delete it.
    const queues = (await names('queues')).filter((name) => name.startsWith('express-task-monitor.'));
    expect(queues).toHaveLength(1);
    const isOfUs = ({ vhost }: { readonly vhost?: string }): boolean => vhost === virtualHost();
    const open = async () =>
      (await rabbit().manage<{ name: string; vhost?: string }[]>('GET', 'connections')).filter(isOfUs);
    await until(async () => (await open()).length === 2);
    for (const { name } of await open()) {
      await rabbit().manage('DELETE', `connections/${encodeURIComponent(name)}`);
    }
    await worker('w1@x');
    await until(isAnswered);
    expect(await names('queues')).not.toContain(queues[0]);
  });

  it('names the command that gives a user the rights that are missing, and works with no more than these', async () => {
    const user = `least-${crypto.randomUUID()}`;
    await worker('w1@x');
    const { configure, write, read } = permissionsFor({});
    const page = readFileSync(new URL('../../docs/celery.md', import.meta.url), 'utf8');
    for (const pattern of [configure, write, read]) expect(page).toContain(`'${pattern}'`);
    const all = { configure, write, read };
    for (const missing of ['configure', 'write', 'read'] as const) {
      await rabbit().createUser(user, virtualHost(), { ...all, [missing]: '^$' });
      const refused = control({ user, known: () => ['w1@x'] });
      expect(await refused.ask('ping')).toBeNull();
      expect(refused.problem()).toMatchObject({
        code: 'NOPERM',
        missingRights: `rabbitmqctl set_permissions -p ${virtualHost()} <user> '${configure}' '${write}' '${read}'`,
      });
      expect(refused.problem()?.sentence).not.toContain(user);
      await refused.close();
    }
    await rabbit().createUser(user, virtualHost(), all);
    const asked = control({ user, known: () => ['w1@x'], mayEnableEvents: true });
    expect(await asked.ask('ping')).toMatchObject({ isComplete: true });
    expect(await asked.enableEvents()).toMatchObject({ isComplete: true });
    await rabbit().manage('DELETE', `users/${user}`);
  });
});
