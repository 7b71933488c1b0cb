import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContract, OLD_RECORDING } from '../testing/contract-parts.ts';

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'celerySources keeps the contract of sources'),
  () => {
    let redis: RedisServer;
    let publisher: ReturnType<typeof createClient>;
    const messages = RECORDINGS[0]?.messages ?? [];

    beforeAll(async () => {
      redis = await startRedis();
      publisher = createClient({ url: redis.url() });
      await publisher.connect();
    });

    afterAll(async () => {
      publisher?.destroy();
      await redis?.close();
    });

    itKeepsTheContract(
      {
        parts: ALL_PARTS,
        async create() {
          const retention = { maxAgeMs: 100 * 365 * 86_400_000 };
          const sources = celerySources({ broker: redis.url(), backend: redis.url(), retention });
          await until(() => sources.tasks.status?.().ok === true);
          const heard = await Promise.all(
            messages.map(({ channel, message }) => publisher.publish(channel, message)),
          );
          const count = heard.reduce((sum, receivers) => sum + receivers, 0);
          await until(async () => (await componentOf(sources, 'collector')).config.messages === count);
          return { sources };
        },
      },
      OLD_RECORDING,
    );
  },
);
