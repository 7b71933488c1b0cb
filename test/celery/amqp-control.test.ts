import { readFileSync } from 'node:fs';
import { connect } from 'amqplib';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { type Heard, LEAST, useRabbitLab } from './amqp-lab.ts';
import { controlError, ping, untilResponding } from './control-lab.ts';

/** The queues and exchanges that remote control makes. */
const isOfControl = (name: string): boolean => name.endsWith('.pidbox');

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'remote control over RabbitMQ'), () => {
  const lab = useRabbitLab();
  const { open, worker, rabbit, virtualHost, names } = lab;

  const ownQueues = async () =>
    (await rabbit().queues(virtualHost())).filter(({ name }) => /^express.*\.pidbox$/.test(name));

  it('sends to all workers what Celery sends', async () => {
    const { heard } = await worker('w1@x');
    await worker('w2@x');
    const before = Date.now() / 1000;
    await untilResponding(await open(), 'w1@x', 'w2@x');
    const [{ message, body }] = heard as [Heard];
    expect(body.method).toBe('ping');
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
    const answers: Record<string, unknown> = { ping: { ok: 'pong' }, active_queues: [{ name: 'mail' }] };
    const first = await worker('w1@x', { answer: ({ body }) => answers[body.method] ?? {} });
    const second = await worker('w2@x', { answer: ({ body }) => (body.method === 'ping' ? undefined : {}) });
    const sources = await open();
    await until(async () => (await sources.workers.listWorkers(context))[0]?.queues?.join() === 'mail');
    const asked = first.heard.filter(({ body }) => body.method !== 'ping');
    expect(new Set(asked.flatMap(({ body }) => body.destination ?? ['everybody']))).toEqual(
      new Set(['w1@x']),
    );
    expect(second.heard.length).toBeGreaterThan(0);
  });

  it('reaches workers whatever the properties of their queues are, which Celery 5.6 lets its users choose', async () => {
    await worker('durable@x', { queue: { durable: true } });
    await worker('exclusive@x', { queue: { durable: false, exclusive: true } });
    await untilResponding(await open(), 'durable@x', 'exclusive@x');
  });

  it('uses the exchanges that the settings name', async () => {
    const settings = { control_exchange: 'shop' };
    await worker('w1@x', { settings });
    await untilResponding(await open({ settings }), 'w1@x');
    const exchanges = (await names('exchanges')).filter(isOfControl);
    expect(exchanges.sort()).toEqual(['reply.shop.pidbox', 'shop.pidbox']);
  });

  it('creates nothing where no worker has ever listened, and knows at once that none does', async () => {
    const sources = await open();
    expect(await ping(sources)).toMatchObject({ ok: false, responding: [] });
    expect(await controlError(sources)).toBeNull();
    expect((await names('exchanges')).filter(isOfControl)).toEqual([]);
    expect((await names('queues')).filter(isOfControl)).toEqual([]);
    await (await worker('w1@x')).leave();
    await until(async () => !(await names('queues')).includes('w1@x.celery.pidbox'));
    await until(async () => (await ping(sources)).error === 'No worker has answered a ping.');
  });

  it('receives replies in one queue that only its connection can use, and removes it', async () => {
    await worker('w1@x');
    const connection = await connect(rabbit().url(virtualHost()));
    connection.on('error', () => {});
    lab.later(() => connection.close());
    await lab.run((raw) => raw.assertExchange('celeryev', 'topic', { durable: true }));
    const sources = celerySources({ broker: connection });
    await untilResponding(sources, 'w1@x');
    await sources.workers.listWorkers(context);
    expect(await ownQueues()).toEqual([
      expect.objectContaining({
        name: expect.stringMatching(/^express-task-monitor\.[\da-f-]{36}\.reply\.celery\.pidbox$/),
        exclusive: true,
        durable: false,
        // RabbitMQ 4 tells the type, too.
        arguments: expect.toBeOneOf([
          { 'x-max-length': 10_000 },
          { 'x-max-length': 10_000, 'x-queue-type': 'classic' },
        ]),
      }),
    ]);
    const exchanges = await rabbit().manage<{ name: string }[]>('GET', `exchanges/${virtualHost()}`);
    expect(exchanges.filter(({ name }) => isOfControl(name))).toMatchObject([
      { name: 'celery.pidbox', type: 'fanout', durable: false, auto_delete: false },
      { name: 'reply.celery.pidbox', type: 'direct', durable: false, auto_delete: false },
    ]);
    await sources.close();
    expect(await names('queues')).toEqual(['w1@x.celery.pidbox']);
    // The host's connection still works.
    await (await connection.createChannel()).close();
  });

  it('drops replies that come late, and those to others', async () => {
    let isSlow = true;
    const slow = await worker('slow@x', { answer: () => (isSlow ? undefined : { ok: 'pong' }) });
    // An answer keeps the queue of replies, which a request that nobody answers ends.
    await worker('quick@x');
    const sources = await open();
    const pings = () => slow.heard.filter(({ body }) => body.method === 'ping');
    await until(async () => (await ping(sources)) && pings().length > 1);
    const [first] = pings() as [Heard];
    await slow.reply({ ...first, body: { ...first.body, ticket: 'of another client' } });
    await slow.reply(first, { ok: 'late' });
    const heard = pings().length;
    await until(async () => (await ping(sources)) && pings().length > heard + 1);
    expect((await ping(sources)).responding).toEqual(['quick@x']);
    isSlow = false;
    await untilResponding(sources, 'quick@x', 'slow@x');
  });

  it('works again after the exchange of replies was deleted, and after its connection was closed', async () => {
    await worker('w1@x');
    const sources = await open();
    await untilResponding(sources, 'w1@x');
    const hears = async (name: string): Promise<void> => {
      await worker(name);
      await until(async () => (await ping(sources)).responding.includes(name));
    };
    // Takes the binding of the queue of replies with it.
    await rabbit().manage('DELETE', `exchanges/${virtualHost()}/reply.celery.pidbox`);
    await hears('w2@x');
    // Only our connection may delete it.
    const [queue] = await ownQueues();
    const connections = async () =>
      (await rabbit().manage<{ name: string; vhost?: string }[]>('GET', 'connections')).filter(
        ({ vhost }) => vhost === virtualHost(),
      );
    await until(async () => (await connections()).length >= 3);
    for (const { name } of await connections()) {
      await rabbit().manage('DELETE', `connections/${encodeURIComponent(name)}`);
    }
    await hears('w3@x');
    // RabbitMQ removes what belonged to a closed connection a little later.
    await until(async () => !(await names('queues')).includes(queue?.name ?? ''));
  });

  it('names the command that gives a user the rights that are missing, and works with no more than these', async () => {
    await worker('w1@x');
    const page = readFileSync(new URL('../../docs/celery-rabbitmq.md', import.meta.url), 'utf8');
    for (const pattern of Object.values(LEAST)) expect(page).toContain(`'${pattern}'`);
    // What events need, so that only remote control is refused.
    const own = 'express-task-monitor\\..*\\.celeryev';
    const events = { configure: `^${own}$`, write: `^${own}$`, read: `^(${own}|celeryev)$` };
    for (const missing of ['configure', 'write', 'read'] as const) {
      const user = await lab.user({ ...LEAST, [missing]: events[missing] });
      const refused = await open({ user });
      const hints = async () => String((await componentOf(refused, 'broker')).config.hints);
      await until(async () => {
        await ping(refused);
        return (await hints()) !== '';
      });
      expect(await controlError(refused)).not.toBeNull();
      const { configure, write, read } = LEAST;
      expect(await hints()).toContain(
        `rabbitmqctl set_permissions -p ${virtualHost()} <user> '${configure}' '${write}' '${read}'`,
      );
      expect(JSON.stringify(await refused.components.listComponents(context))).not.toContain(user);
      await refused.close();
    }
    const { heard } = await worker('w2@x');
    const asked = await open({ user: await lab.user(), enableEvents: true });
    await until(async () => (await ping(asked)).responding.length === 2);
    await until(() => heard.some(({ body }) => body.method === 'enable_events'));
    expect(await controlError(asked)).toBeNull();
  });
});
