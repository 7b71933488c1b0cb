import { describe, expect, it } from 'vitest';
import type { QueueReader } from '../../src/sources/celery/broker.ts';
import { createManagedQueues } from '../../src/sources/celery/brokers/amqp/management/managed-queues.ts';
import { resolveManagement } from '../../src/sources/celery/brokers/amqp/management/management-options.ts';
import { permissionsFor } from '../../src/sources/celery/brokers/amqp/permissions.ts';
import { createAmqpQueueReader } from '../../src/sources/celery/brokers/amqp/queues/queue-reader.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { useRabbitLab } from './amqp-lab.ts';

const MESSAGE = Buffer.from('[[1], {}, {}]');

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'the queues of RabbitMQ'), () => {
  const { connect, run, rabbit, virtualHost, later } = useRabbitLab();

  function reader(
    more: { settings?: CelerySettings; given?: string[]; management?: string; user?: string } = {},
  ): QueueReader {
    const { settings = {}, given = [], user, management } = more;
    const resolved =
      management === undefined
        ? null
        : resolveManagement({ url: rabbit().managementUrl, username: management, password: management });
    const managed = resolved === null ? null : createManagedQueues(resolved, virtualHost(), () => clock);
    later(async () => managed?.close());
    return createAmqpQueueReader({ connection: connect(user), settings, given, management: managed });
  }

  /** Moves on when the management API is to be read again. */
  let clock = 0;

  async function fill(queue: string, count: number, more: object = {}): Promise<void> {
    const before = await run(async (raw) => {
      const { messageCount } = await raw.assertQueue(queue, { durable: true, ...more });
      for (let sent = 0; sent < count; sent += 1) raw.publish('', queue, MESSAGE);
      await raw.checkQueue(queue);
      return messageCount;
    });
    await until(async () => (await depth(queue)) === before + count);
  }

  async function depth(queue: string): Promise<number> {
    return (await run((raw) => raw.checkQueue(queue))).messageCount;
  }

  const read = (from: QueueReader, known: readonly string[] = [], now = 0) =>
    from.read(known, () => expect.unreachable(), now);

  it('are those that settings, host and workers name; of missing ones those that the host names', async () => {
    await fill('celery', 3);
    await fill('mail', 1, { arguments: { 'x-queue-type': 'quorum' } });
    await fill('worked', 0);
    const settings = { task_queues: [{ name: 'mail' }, 'nowhere'] };
    const queues = reader({ settings, given: ['given'] });
    expect(queues.listsMessages).toBe(false);
    expect(await read(queues, ['worked', 'gone'])).toEqual({
      queues: [
        { name: 'celery', waiting: 3, reserved: null, consumers: 0 },
        { name: 'given', waiting: 0, reserved: 0, consumers: 0 },
        { name: 'mail', waiting: 1, reserved: null, consumers: 0 },
        { name: 'nowhere', waiting: 0, reserved: 0, consumers: 0 },
        { name: 'worked', waiting: 0, reserved: null, consumers: 0 },
      ],
      messages: [],
      isComplete: false,
      newest: [],
      ok: true,
      problem: null,
      revision: 1,
    });
    expect((await read(reader({ settings: { task_default_queue: 'mail' } }))).queues).toHaveLength(1);
  });

  it('change their revision with their figures alone', async () => {
    await fill('celery', 1);
    const queues = reader();
    const first = await read(queues);
    expect(await read(queues)).toBe(first);
    await fill('celery', 2);
    await run((raw) => raw.consume('celery', () => {}));
    const second = await read(queues);
    expect(second.queues).toEqual([{ name: 'celery', waiting: 0, reserved: null, consumers: 1 }]);
    expect(second.revision).toBe(first.revision + 1);
  });

  it('are looked for again later when they are missing, and at once when a worker consumes them', async () => {
    const queues = reader({ given: ['late', 'later'] });
    await read(queues);
    await fill('late', 1);
    await fill('later', 1);
    expect((await read(queues, ['late'], 14_000)).queues).toMatchObject([
      { name: 'late', waiting: 1 },
      { name: 'later', waiting: 0 },
    ]);
    expect((await read(queues, ['late'], 15_000)).queues).toMatchObject([{ waiting: 1 }, { waiting: 1 }]);
    await run((raw) => raw.deleteQueue('later'));
    expect((await read(queues, ['late'], 16_000)).queues).toMatchObject([{ waiting: 1 }, { waiting: 0 }]);
  });

  it('are read without taking a message out', async () => {
    await fill('celery', 2);
    const queues = reader({ management: 'guest' });
    for (let count = 0; count < 3; count += 1) {
      clock += 10_000;
      await read(queues);
    }
    const seen: boolean[] = [];
    await run((raw) =>
      raw.consume('celery', (message) => void seen.push(message?.fields.redelivered ?? true)),
    );
    await until(() => seen.length === 2);
    expect(seen).toEqual([false, false]);
  });

  it('are with a management API all of the virtual host that hold tasks, with what is unacknowledged', async () => {
    await fill('celery', 0);
    await fill('mail', 4);
    const others = [
      'celery_delayed_3',
      'eu_celery_delayed_27',
      'celeryev.8c1d0e4e-91f4-4a36-8f3a-5d1f4f9a2b11',
      'w1@x.celery.pidbox',
      'express-task-monitor.events',
    ];
    for (const name of others) await fill(name, 1);
    await run(async (raw) => {
      await raw.assertQueue('5d1f4f9a-91f4-4a36-8f3a-8c1d0e4e2b11', { autoDelete: true });
      await raw.assertQueue('own', { exclusive: true });
      await raw.prefetch(3);
      await raw.consume('mail', () => {});
    });
    const queues = reader({ management: 'guest' });
    await until(async () => {
      clock += 10_000;
      return (await read(queues)).queues.some(({ reserved }) => reserved === 3);
    });
    const reading = await read(queues);
    expect(reading.queues).toEqual([
      { name: 'celery', waiting: 0, reserved: 0, consumers: 0 },
      { name: 'mail', waiting: 1, reserved: 3, consumers: 1 },
    ]);
    expect(reading).toMatchObject({ isComplete: false, problem: null });
  });

  it('are known to hold nothing only if the management API lists no message anywhere, not even a delayed one', async () => {
    await fill('celery', 0);
    const queues = reader({ management: 'guest' });
    const isComplete = async (): Promise<boolean> => {
      clock += 10_000;
      return (await read(queues)).isComplete;
    };
    await until(isComplete);
    await fill('celery_delayed_3', 1);
    await until(async () => !(await isComplete()));
    await run((raw) => raw.deleteQueue('celery_delayed_3'));
    await until(isComplete);
    await fill('celery', 1);
    expect((await read(queues)).isComplete).toBe(false);
  });

  it('stay readable when the management API refuses its user, and say so', async () => {
    await fill('celery', 2);
    await rabbit().createUser('no-tag', virtualHost());
    for (const [management, code] of [
      ['no-tag', 'NOPERM'],
      ['nobody', 'WRONGPASS'],
    ] as const) {
      expect(await read(reader({ management }))).toMatchObject({
        queues: [{ name: 'celery', waiting: 2, reserved: null, consumers: 0 }],
        ok: true,
        problem: { code },
      });
    }
  });

  it('can be read by a user with the least rights', async () => {
    const user = `least-${crypto.randomUUID()}`;
    await rabbit().createUser(user, virtualHost(), permissionsFor({}));
    await rabbit().manage('PUT', `users/${user}`, { password: user, tags: 'management' });
    await fill('celery', 2);
    const queues = reader({ user, management: user });
    await until(async () => {
      clock += 10_000;
      return (await read(queues)).queues[0]?.reserved === 0;
    });
    expect(await read(queues)).toMatchObject({
      queues: [{ name: 'celery', waiting: 2 }],
      ok: true,
      problem: null,
    });
    await rabbit().manage('DELETE', `users/${user}`);
  });

  it('show the last figures when RabbitMQ cannot be reached', async () => {
    await fill('celery', 2);
    const connection = connect();
    const queues = createAmqpQueueReader({ connection, settings: {}, given: [], management: null });
    expect(await read(queues)).toMatchObject({ ok: true });
    await connection.close();
    expect(await read(queues)).toMatchObject({ ok: false, queues: [{ name: 'celery', waiting: 2 }] });
  });
});
