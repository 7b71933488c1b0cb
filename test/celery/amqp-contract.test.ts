import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { type AmqpPublisher, amqpPublisher, amqpRecording } from '../helpers/amqp-events.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContractTogether, OLD_RECORDING } from '../testing/contract-parts.ts';

describe.skipIf(rabbitMissing !== null)(
  titleUnless(rabbitMissing, 'celerySources on RabbitMQ keeps the contract of sources'),
  () => {
    let rabbit: Rabbit;
    let virtualHost = '';
    let publisher: AmqpPublisher;
    const recorded = amqpRecording();

    beforeAll(async () => {
      rabbit = await sharedRabbit();
      virtualHost = await rabbit.createVirtualHost();
      publisher = await amqpPublisher(rabbit.url(virtualHost));
    });

    afterAll(() => publisher?.close());

    itKeepsTheContractTogether(
      {
        parts: ALL_PARTS,
        async create() {
          const retention = { maxAgeMs: 100 * 365 * 86_400_000 };
          const sources = celerySources({ broker: rabbit.url(virtualHost), retention });
          await until(() => sources.tasks.status?.().ok === true);
          for (const { routing_key: key, body } of recorded) publisher.publish(body, key);
          await until(async () => {
            const messages = (await componentOf(sources, 'collector')).config.messages;
            return Number(messages) >= recorded.length;
          });
          return { sources };
        },
      },
      OLD_RECORDING,
    );
  },
);
