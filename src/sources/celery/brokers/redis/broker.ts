import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type { Broker } from '../../broker.ts';
import type { CelerySettings } from '../../settings.ts';
import { deniedHint } from './denied-hint.ts';
import { diagnoseEvents } from './diagnose.ts';
import { createRedisEvents } from './events.ts';
import { createRedisMailbox } from './mailbox.ts';
import { createRedisQueueReader } from './queues/queue-reader.ts';
import { createRedisCheck } from './replica.ts';

/** How long a diagnosis listens, in milliseconds: workers send a heartbeat every two seconds. */
const LISTEN_MS = 8000;

/** Parameters of a broker on Redis. */
export interface RedisBrokerOptions {
  readonly endpoint: RedisEndpoint;
  /** For commands. It may be shared with a result backend in the same database, and is not closed here. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
  /** Names of queues that the host gives. */
  readonly queues: readonly string[];
}

/** A broker on Redis. */
export function createRedisBroker({ endpoint, reader, settings, queues }: RedisBrokerOptions): Broker {
  const events = createRedisEvents(endpoint, settings);
  const control = createRedisMailbox(endpoint, settings);
  const { check, version } = createRedisCheck(reader);
  return {
    events,
    control,
    queues: createRedisQueueReader(reader, settings, queues),
    describe: () => ({
      url: endpoint.url,
      config: {
        transport: 'redis',
        database: endpoint.database,
        version: version(),
        // Only the names, because the values may be passwords of Sentinels.
        transport_options: Object.keys(settings.broker_transport_options ?? {}),
      },
    }),
    visibilityMs: visibilityMs(settings),
    check,
    deniedHint: (access) => deniedHint(access, settings, endpoint.database),
    diagnose: (signal) => diagnoseEvents(endpoint, settings, LISTEN_MS, signal),
    async close() {
      await Promise.all([events.close(), control.close()]);
    },
  };
}

/** Seconds in kombu's own terms, an hour by default (kombu/transport/redis.py). */
function visibilityMs({ broker_transport_options: options }: CelerySettings): number {
  const seconds = options?.visibility_timeout;
  return 1_000 * (typeof seconds === 'number' && seconds > 0 ? seconds : 3_600);
}
