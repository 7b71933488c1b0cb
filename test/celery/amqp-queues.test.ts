import { describe, expect, it } from 'vitest';
import type { CelerySources } from '../../src/celery.ts';
import { context } from '../helpers/celery-events.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { useRabbitLab } from './amqp-lab.ts';

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'the queues of RabbitMQ'), () => {
  const lab = useRabbitLab();
  const { open, run, fill } = lab;

  async function list(sources: CelerySources) {
    const queues = (await sources.queues.listQueues(context)) ?? [];
    return queues.map(({ name, waiting, reserved, consumers }) => ({ name, waiting, reserved, consumers }));
  }

  /** Waits until the queues are these. */
  async function expectQueues(sources: CelerySources, expected: readonly object[]): Promise<void> {
    let found: readonly object[] = [];
    await until(async () => {
      found = await list(sources);
      return JSON.stringify(found) === JSON.stringify(expected);
    }).catch(() => {});
    expect(found).toEqual(expected);
  }

  const counts = (name: string, waiting: number, consumers: number) => ({
    ...{ name, waiting, reserved: null, consumers },
  });

  it('are those of tasks that settings, host and workers name; of missing ones those that the host names', async () => {
    await fill('celery', 3);
    await fill('mail', 1, { arguments: { 'x-queue-type': 'quorum' } });
    await fill('worked', 0);
    await lab.worker('w1@x', {
      answer: ({ body }) =>
        body.method === 'active_queues' ? [{ name: 'worked' }, { name: 'gone' }] : { ok: 'pong' },
    });
    const others = [
      'celery_delayed_3',
      'eu_celery_delayed_27',
      'celeryev.8c1d0e4e-91f4-4a36-8f3a-5d1f4f9a2b11',
      'w1@x.celery.pidbox',
      'express-task-monitor.events',
    ];
    const settings = { task_queues: [{ name: 'mail' }, 'nowhere'] };
    const sources = await open({ settings, queues: ['given', ...others] });
    await expectQueues(sources, [
      counts('celery', 3, 0),
      counts('given', 0, 0),
      counts('mail', 1, 0),
      counts('nowhere', 0, 0),
      counts('worked', 0, 0),
    ]);
    const mail = await open({ settings: { task_default_queue: 'mail' }, control: false });
    await expectQueues(mail, [counts('mail', 1, 0)]);
  });

  it('follow what is sent and consumed, without taking a message out', async () => {
    await fill('celery', 1);
    const sources = await open({ control: false });
    await expectQueues(sources, [counts('celery', 1, 0)]);
    await fill('celery', 2);
    await expectQueues(sources, [counts('celery', 3, 0)]);
    const seen: boolean[] = [];
    await run((raw) =>
      raw.consume('celery', (message) => void seen.push(message?.fields.redelivered ?? true)),
    );
    await until(() => seen.length === 3);
    expect(seen).toEqual([false, false, false]);
    await expectQueues(sources, [counts('celery', 0, 1)]);
  });

  it('are looked for again when they are missing', async () => {
    const sources = await open({ control: false, queues: ['later'] });
    await expectQueues(sources, [counts('later', 0, 0)]);
    await fill('later', 1);
    await expectQueues(sources, [counts('later', 1, 0)]);
    await run((raw) => raw.deleteQueue('later'));
    await expectQueues(sources, [counts('later', 0, 0)]);
  });

  it('show the last figures of a source that is closed', async () => {
    await fill('celery', 2);
    const sources = await open({ control: false });
    await expectQueues(sources, [counts('celery', 2, 0)]);
    await sources.close();
    expect(await list(sources)).toEqual([counts('celery', 2, 0)]);
  });
});
