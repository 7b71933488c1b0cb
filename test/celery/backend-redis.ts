/** A result backend on a real Redis, read by this library. */

import type { CelerySettings } from '../../src/celery.ts';
import type { History } from '../../src/history/history.ts';
import { historySources } from '../../src/history/history-sources.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { RetentionOptions } from '../../src/history/retention.ts';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import { createRedisResultBackend } from '../../src/sources/celery/backends/redis/redis-result-backend.ts';
import { backendEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { createResults, type Results } from '../../src/sources/celery/results/results.ts';

/** A history fed by a backend alone. */
export interface Monitor {
  readonly history: History;
  readonly backend: Results;
  readonly tasks: ReturnType<Results['withLookup']>;
  close(): Promise<void>;
}

/** Makes a monitor of that Redis; nothing is read before `backend.start()`. */
export function monitorOf(
  url: string,
  settings: CelerySettings = {},
  retention: RetentionOptions = {},
  isWaiting: (id: string) => boolean = () => false,
): Monitor {
  const history = createMemoryHistory(retention);
  const { backend: endpoint } = backendEndpoint(url, settings);
  if (endpoint === null) throw new Error('The backend is not Redis.');
  const reader = createRedisReader('result backend', endpoint);
  const lineage = createLineage(history);
  const { stored } = createRedisResultBackend({ endpoint, reader, settings });
  const backend = createResults({
    stored,
    settings,
    history,
    lineage,
    isWaiting,
    valueLength: 65_536,
  });
  return {
    history,
    backend,
    tasks: backend.withLookup(historySources('celery', history.reader).tasks),
    async close() {
      backend.stop();
      await reader.close();
      history.close();
    },
  };
}
