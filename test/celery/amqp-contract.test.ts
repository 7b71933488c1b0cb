import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { type AmqpPublisher, amqpPublisher, amqpRecording } from '../helpers/amqp-events.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { untilNow } from '../helpers/celery-recordings.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContractTogether, NOT_SEEDED } from '../testing/contract-parts.ts';

describe.skipIf(rabbitMissing !== null)(
  titleUnless(rabbitMissing, 'celerySources on RabbitMQ keeps the contract of sources'),
  () => {
    let rabbit: Rabbit;
    let virtualHost = '';
    let publisher: AmqpPublisher;
    const recorded = amqpRecording().flatMap(({ body }) => JSON.parse(body) as { timestamp: number }[]);

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
          const sources = celerySources({ broker: rabbit.url(virtualHost) });
          await until(() => sources.tasks.status?.().ok === true);
          for (const event of untilNow(recorded)) publisher.publish(event);
          await until(async () => {
            const messages = (await componentOf(sources, 'collector')).config.messages;
            return Number(messages) >= recorded.length;
          });
          return { sources };
        },
      },
      NOT_SEEDED,
    );
  },
);
