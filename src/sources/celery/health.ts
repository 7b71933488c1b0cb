import type { TaskHistory } from '../../history/task-history.ts';
import type { HealthCheck, WorkerHealthCheck } from '../../model.ts';
import type { HealthSource, ReadContext } from '../../source.ts';
import type { Collector } from './collector.ts';
import { type Connection, createConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoints.ts';
import type { ResolvedOptions } from './options.ts';

/** The health part, which owns the connections that it asks over. */
export interface CeleryHealth {
  readonly source: HealthSource;
  close(): Promise<void>;
}

/**
 * Answers `/healthcheck`: broker and backend by PING, workers by their heartbeats. Over connections of
 * its own, made when first asked: on the one that events come over, PING would wait behind them.
 */
export function createHealth(
  options: ResolvedOptions,
  history: TaskHistory,
  collector: Collector,
): CeleryHealth {
  const { broker, backend } = options;
  const connections = new Map<RedisEndpoint, Connection>();
  const sameDatabase =
    backend !== null && backend.server === broker.server && backend.database === broker.database;
  let closed = false;

  async function check(
    endpoint: RedisEndpoint,
    label: string,
    { signal }: ReadContext,
  ): Promise<HealthCheck> {
    if (closed) return { ok: false, error: 'The monitor has been closed.' };
    let connection = connections.get(endpoint);
    if (connection === undefined) {
      connection = createConnection({ label, open: endpoint.open });
      connections.set(endpoint, connection);
    }
    const problem = await connection.check(signal);
    return problem === null ? { ok: true, error: null } : { ok: false, error: problem.sentence };
  }

  function checkWorkers(): WorkerHealthCheck {
    if (!collector.workerStatus().ok) {
      const error = 'The broker is away, so nobody can tell whether workers respond.';
      return { ok: false, error, responding: [], missing: [] };
    }
    const { responding, missing } = history.checkWorkers();
    const ok = responding.length > 0;
    return { ok, error: ok ? null : 'No worker has sent a heartbeat lately.', responding, missing };
  }

  return {
    source: {
      name: options.name,
      checkBroker: (context) => check(broker, 'broker', context),
      ...(backend === null
        ? {}
        : {
            checkBackend: (context: ReadContext) =>
              check(sameDatabase ? broker : backend, 'result backend', context),
          }),
      checkWorkers,
    },
    async close() {
      closed = true;
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}
