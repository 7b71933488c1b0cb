import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { componentOf, eventMessage } from '../helpers/celery-events.ts';
import { eventsIn, RECORDINGS, untilNow } from '../helpers/celery-recordings.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContractTogether, NOT_SEEDED } from '../testing/contract-parts.ts';

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'celerySources keeps the contract of sources'),
  () => {
    let redis: RedisServer;
    let publisher: ReturnType<typeof createClient>;
    const recording = RECORDINGS[3] as (typeof RECORDINGS)[number];
    const recorded = recording.messages.flatMap((message) =>
      eventsIn(message).map((event) => ({ ...event, timestamp: event.timestamp, channel: message.channel })),
    );

    beforeAll(async () => {
      redis = await startRedis();
      publisher = createClient({ url: redis.url() });
      await publisher.connect();
    });

    afterAll(async () => {
      publisher?.destroy();
      await redis?.close();
    });

    itKeepsTheContractTogether(
      {
        parts: ALL_PARTS,
        async create() {
          const url = redis.url(recording.database);
          const sources = celerySources({ broker: url, backend: url, settings: recording.settings });
          await until(() => sources.tasks.status?.().ok === true);
          const published = [
            ...untilNow(recorded).map(({ channel, ...event }) => ({ channel, message: eventMessage(event) })),
            ...recording.messages.filter((message) => eventsIn(message).length === 0),
          ];
          const heard = await Promise.all(
            published.map(({ channel, message }) => publisher.publish(channel, message)),
          );
          const count = heard.filter((receivers) => receivers > 0).length;
          await until(async () => (await componentOf(sources, 'collector')).config.messages === count);
          return { sources };
        },
      },
      NOT_SEEDED,
    );
  },
);
