/** The one place that chooses how broker, result backend and redbeat are read: by the options' URLs. */
import { createRedisReader } from '../../redis/connection-reader.ts';
import type { RedisReader } from '../../redis/reader.ts';
import { createRedisResultBackend } from './backends/redis/redis-result-backend.ts';
import type { Broker } from './broker.ts';
import { createRedisBroker } from './brokers/redis/broker.ts';
import { redbeatLocation } from './brokers/redis/redbeat-endpoint.ts';
import type { RedbeatOptions } from './collection.ts';
import type { ResolvedOptions } from './options.ts';
import type { ResultBackend } from './result-backend.ts';

/** What a deployment is read from. */
export interface Connections {
  readonly broker: Broker | null;
  readonly backend: ResultBackend | null;
  readonly redbeat: RedbeatOptions;
  /** Closes everything. */
  close(): Promise<void>;
}

/** Nothing is connected before something is first asked. */
export function connectionsOf(options: ResolvedOptions): Connections {
  const { settings, broker: brokerEndpoint, backend: backendEndpoint, queues } = options;
  const brokerReader = brokerEndpoint === null ? null : createRedisReader('broker', brokerEndpoint);
  const broker =
    brokerEndpoint === null || brokerReader === null
      ? null
      : createRedisBroker({ endpoint: brokerEndpoint, reader: brokerReader, settings, queues });
  // Broker and result backend in one database share the connection for commands.
  const isOneDatabase =
    brokerEndpoint?.server === backendEndpoint?.server &&
    brokerEndpoint?.database === backendEndpoint?.database;
  const backend =
    backendEndpoint === null
      ? null
      : createRedisResultBackend({
          endpoint: backendEndpoint,
          reader:
            isOneDatabase && brokerReader !== null
              ? brokerReader
              : createRedisReader('result backend', backendEndpoint),
          settings,
        });
  const location = redbeatLocation(settings, brokerEndpoint);
  const redbeatReader =
    location.endpoint === null || location.endpoint === brokerEndpoint
      ? brokerReaderFor(location.endpoint, brokerReader)
      : createRedisReader('redbeat', location.endpoint);
  return {
    broker,
    backend,
    redbeat: { reader: redbeatReader, unreadable: location.hint },
    async close() {
      await broker?.close();
      await backend?.close();
      await Promise.all([...new Set([brokerReader, redbeatReader])].map((reader) => reader?.close()));
    },
  };
}

/** Redbeat's schedule is in the broker's database unless the settings name another Redis. */
function brokerReaderFor(endpoint: object | null, reader: RedisReader | null): RedisReader | null {
  return endpoint === null ? null : reader;
}
