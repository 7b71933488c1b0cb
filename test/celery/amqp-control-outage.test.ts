import { afterAll, describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type OwnRabbit, rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { useRabbitLab } from './amqp-lab.ts';
import { controlError, ping, untilResponding } from './control-lab.ts';

const context = { signal: new AbortController().signal, ping: true };

describe.skipIf(rabbitMissing !== null)(
  titleUnless(rabbitMissing, 'remote control and queues in an outage of RabbitMQ'),
  () => {
    let own: OwnRabbit;
    const lab = useRabbitLab(async () => {
      own = await startRabbit();
      return own;
    });

    afterAll(() => own?.close());

    it('fail in time, keep the last figures, and come back', async () => {
      await lab.fill('celery', 2);
      await lab.worker('w1@x');
      const sources = await lab.open();
      const queues = async () =>
        (await sources.queues.listQueues(context))?.map(({ name, waiting }) => [name, waiting]);
      const isRead = () => sources.queues.status?.().ok;
      await untilResponding(sources, 'w1@x');
      await until(async () => (await queues())?.[0]?.[1] === 2);

      own.freeze();
      await until(() => sources.events.status?.().ok === false);
      await until(() => isRead() === false);
      expect(await ping(sources)).toMatchObject({ ok: false });
      expect(await queues()).toEqual([['celery', 2]]);
      own.thaw();
      await until(() => isRead() === true);
      await until(async () => (await ping(sources)).ok === true);
      expect(await controlError(sources)).toBeNull();

      await own.kill();
      await until(() => isRead() === false);
      expect(await ping(sources)).toMatchObject({ ok: false });
      await own.start();
      await lab.worker('w2@x');
      await until(async () => (await ping(sources)).responding.includes('w2@x'));
      await until(() => isRead() === true);
      expect(await controlError(sources)).toBeNull();
    }, 180_000);
  },
);

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'a RabbitMQ without memory'), () => {
  let own: OwnRabbit | null = null;
  const lab = useRabbitLab(async () => {
    own = await startRabbit({ config: ['vm_memory_high_watermark.absolute = 1MB'] });
    return own;
  });

  afterAll(() => own?.close());

  it('still shows its queues, and says why workers cannot be asked', async () => {
    // Nothing can be published, so the management API declares the queues.
    for (const queue of ['celery', 'w1@x.celery.pidbox']) {
      await lab.rabbit().manage('PUT', `queues/${lab.virtualHost()}/${queue}`, { durable: false });
    }
    const exchange = { type: 'fanout', durable: false };
    await lab.rabbit().manage('PUT', `exchanges/${lab.virtualHost()}/celery.pidbox`, exchange);
    const sources = celerySources({ broker: lab.rabbit().url(lab.virtualHost()) });
    lab.later(async () => sources.close());
    await until(async () => {
      const queues = await sources.queues.listQueues(context);
      return queues?.[0]?.waiting === 0;
    });
    // RabbitMQ still takes the first message of a connection.
    await until(async () => {
      await sources.health.checkWorkers?.(context);
      return String((await componentOf(sources, 'control')).config.error).includes('short of memory');
    });
    expect(await sources.health.checkBroker?.(context)).toMatchObject({ ok: false });
    expect(await sources.queues.listQueues(context)).toMatchObject([
      { name: 'celery', waiting: 0, consumers: 0 },
    ]);
  }, 120_000);
});
