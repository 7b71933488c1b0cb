import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type {
  ResultBackend,
  StoredPart,
  StoredResults,
  StoredText,
  StoredValue,
} from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';
import { createPublishedResults } from './published-results.ts';
import { type ResultKeys, resultKeys } from './result-keys.ts';
import { createValueStore, type ValuePart, type ValueStore } from './value-store.ts';

/** What the backend is made of. */
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
    stored: createStoredResults(createValueStore(reader), resultKeys(settings)),
    check: (signal) => reader.check(signal),
    describe: () => ({
      url: endpoint.url,
      config: {
        transport: 'redis',
        database: endpoint.database,
        // Only the names: the values may hold passwords of Sentinels.
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
    size: (signal) => store.size(signal),
    async scan(from, isWanted, signal) {
      const { cursor, keys: names } = await store.scan(from ?? '0', keys.pattern, signal);
      const tasks = names.flatMap((name) => keys.taskOf(name) ?? []);
      const wanted = tasks.filter(isWanted).map(keys.task);
      const groups = names.filter(keys.isGroup);
      return {
        next: cursor === '0' ? null : cursor,
        taskCount: tasks.length,
        parts: readParts(store, keys, wanted, groups, signal),
      };
    },
    async *find(taskIds, signal) {
      for await (const part of store.read(taskIds.map(keys.task), signal)) yield tasksOf(part, keys);
    },
    remainingLives: (taskIds, signal) => store.ttls(taskIds.map(keys.task), signal),
    requests: () => store.commands(),
  };
}

async function* readParts(
  store: ValueStore,
  keys: ResultKeys,
  tasks: readonly string[],
  groups: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<StoredPart, void> {
  for await (const part of store.readScanned(tasks, signal)) {
    yield { tasks: tasksOf(part, keys), groups: [] };
  }
  for await (const { values } of store.read(groups, signal)) {
    yield { tasks: [], groups: values.flatMap((value) => textOf(value) ?? []) };
  }
}

function tasksOf({ keys: names, values }: ValuePart, keys: ResultKeys): StoredValue[] {
  return names.flatMap((name, index) => {
    const id = keys.taskOf(name);
    const stored = textOf(values[index] ?? null);
    return id === null || stored === null ? [] : [{ id, ...stored }];
  });
}

function textOf(value: ValuePart['values'][number]): StoredText | null {
  if (value === null) return null;
  return typeof value === 'string' ? { text: value, isCut: false } : { text: value.head, isCut: true };
}
