import { afterAll, describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { createAmqpQueueReader } from '../../src/sources/celery/brokers/amqp/queues/queue-reader.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type OwnRabbit, rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { useRabbitLab } from './amqp-lab.ts';

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
      await lab.run((raw) => raw.assertQueue('celery', { durable: true }));
      await lab.worker('w1@x');
      const control = lab.control({ known: () => ['w1@x'] });
      const queues = createAmqpQueueReader({
        connection: lab.connect(),
        settings: {},
        given: [],
        management: null,
      });
      const ping = () => control.ask('ping', { timeoutMs: 1000 });
      const read = () => queues.read([], () => expect.unreachable(), Date.now());
      const isUp = async (): Promise<boolean> => (await ping())?.isComplete === true && (await read()).ok;
      const figures = [{ name: 'celery', waiting: 0, reserved: null, consumers: 0 }];
      expect(await isUp()).toBe(true);

      own.freeze();
      // The signal stops a process soon, not at once.
      await until(async () => (await ping()) === null);
      const begun = performance.now();
      expect(await ping()).toBeNull();
      expect(await read()).toMatchObject({ ok: false, queues: figures });
      // A second for the workers and five for the reading, and as much again on a busy machine.
      expect(performance.now() - begun).toBeLessThan(12_000);
      expect(control.problem()).toMatchObject({ code: 'TimeoutError', missingRights: null });
      own.thaw();
      await until(isUp);

      await own.kill();
      await until(async () => !(await read()).ok);
      expect(await ping()).toBeNull();
      expect(await read()).toMatchObject({ ok: false, queues: figures });
      await own.start();
      await until(async () => (await ping())?.receivers === 0);
      await lab.worker('w1@x');
      await until(isUp);
      expect(control.problem()).toBeNull();
      expect((await read()).queues).toEqual(figures);
    }, 180_000);
  },
);

describe.skipIf(rabbitMissing !== null)(
  titleUnless(rabbitMissing, 'a RabbitMQ without statistics and without memory'),
  () => {
    let own: OwnRabbit | null = null;
    const lab = useRabbitLab(async () => {
      own = await startRabbit({
        config: [
          'management_agent.disable_metrics_collector = true',
          'vm_memory_high_watermark.absolute = 1MB',
        ],
      });
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
      const management = { url: lab.rabbit().managementUrl, username: 'guest', password: 'guest' };
      const sources = celerySources({ broker: lab.rabbit().url(lab.virtualHost()), management });
      lab.later(async () => sources.close());
      await until(async () => {
        const queues = await sources.queues.listQueues(context);
        return queues?.[0]?.reserved === 0;
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
  },
);
