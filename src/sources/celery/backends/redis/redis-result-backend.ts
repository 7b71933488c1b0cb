import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type { ResultBackend, StoredPart, StoredResults, StoredValue } from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';
import { deniedHint } from './denied-hint.ts';
import { diagnoseDatabase, diagnoseResults } from './diagnose.ts';
import { createPublishedResults } from './published-results.ts';
import { type ResultKeys, resultKeys } from './result-keys.ts';
import { countKeys, type KeyValue, readValues, scanKeys, type ValueStore } from './value-store.ts';

/** How long a diagnosis listens for results, in milliseconds. */
const LISTEN_MS = 8000;

/** Parameters of the backend. */
export interface RedisResultBackendOptions {
  readonly endpoint: RedisEndpoint;
  /** Connection for commands to the same database; closed with the backend. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
}

/** Celery's result backend in Redis (celery/backends/redis.py). */
export function createRedisResultBackend(options: RedisResultBackendOptions): ResultBackend {
  const { endpoint, reader, settings } = options;
  const published = createPublishedResults(endpoint, settings);

  return {
    published,
    stored: createStoredResults({ reader, commands: 0 }, resultKeys(settings)),
    check: (signal) => reader.check(signal),
    deniedHint: (access) => deniedHint(access, settings, endpoint.database),
    diagnose: (signal) => diagnoseResults(endpoint, settings, LISTEN_MS, signal),
    locate: (taskId, signal) => diagnoseDatabase(endpoint, settings, taskId, signal),
    describe: () => ({
      url: endpoint.url,
      config: {
        transport: 'redis',
        database: endpoint.database,
        // Only the names, because the values may be passwords of Sentinels.
        transport_options: Object.keys(settings.result_backend_transport_options ?? {}),
      },
    }),
    async close() {
      await Promise.all([published.close(), reader.close()]);
    },
  };
}

function createStoredResults(store: ValueStore, keys: ResultKeys): StoredResults {
  return {
    size: (signal) => countKeys(store, signal),
    async scan(from, select, signal) {
      const { cursor, keys: names } = await scanKeys(store, from ?? '0', keys.pattern, signal);
      const tasks = names.flatMap((name) => keys.taskOf(name) ?? []);
      const wanted = (await select(tasks)).map(keys.task);
      return {
        next: cursor === '0' ? null : cursor,
        taskCount: tasks.length,
        parts: readParts(store, keys, wanted, names.filter(keys.isGroup), signal),
      };
    },
    async *find(taskIds, signal) {
      for await (const values of readValues(store, taskIds.map(keys.task), signal)) {
        yield resultsOf(values, keys);
      }
    },
    requests: () => store.commands,
  };
}

async function* readParts(
  store: ValueStore,
  keys: ResultKeys,
  taskKeys: readonly string[],
  groupKeys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<StoredPart, void> {
  for await (const values of readValues(store, taskKeys, signal)) {
    yield { tasks: resultsOf(values, keys), groups: [] };
  }
  for await (const groups of readValues(store, groupKeys, signal)) yield { tasks: [], groups };
}

function resultsOf(values: readonly KeyValue[], keys: ResultKeys): StoredValue[] {
  return values.map(({ key, text, isCut }) => ({ id: keys.taskOf(key) ?? '', text, isCut }));
}
