import type { HistoryReader } from '../../history/history.ts';
import type { HealthCheck, WorkerHealthCheck } from '../../model.ts';
import type { HealthSource, ReadContext } from '../../source.ts';
import type { Broker } from './broker.ts';
import type { Collector } from './collector.ts';
import type { ResultBackend } from './result-backend.ts';

/** Parameters of the checks. */
export interface HealthOptions {
  readonly name: string;
  readonly reader: HistoryReader;
  readonly collector: Pick<Collector, 'workerStatus'>;
  /** `null` where it cannot be read. */
  readonly broker: Pick<Broker, 'check'> | null;
  readonly backend: Pick<ResultBackend, 'check'> | null;
  /** Asks the workers themselves; `null` where that is not possible, or not allowed. */
  readonly ping: ((signal: AbortSignal) => Promise<WorkerHealthCheck | null>) | null;
}

/**
 * Answers `/healthcheck`: broker and result backend by a sign of life over the connections that commands
 * use, workers by their heartbeats, or by a ping where the host allows it.
 */
export function createHealth(options: HealthOptions): HealthSource {
  const { name, reader, collector, broker, backend, ping } = options;

  async function check(server: Pick<Broker, 'check'>, { signal }: ReadContext): Promise<HealthCheck> {
    const problem = await server.check(signal);
    return problem === null ? { ok: true, error: null } : { ok: false, error: problem.sentence };
  }

  async function byHeartbeats(context: ReadContext): Promise<WorkerHealthCheck> {
    if (!collector.workerStatus().ok) {
      const error = 'The broker cannot be reached, so it is unknown whether workers respond.';
      return { ok: false, error, responding: [], missing: [] };
    }
    const { responding, missing } = await reader.checkWorkers(context);
    const ok = responding.length > 0;
    return { ok, error: ok ? null : 'No worker has sent a heartbeat recently.', responding, missing };
  }

  return {
    name,
    ...(broker === null ? {} : { checkBroker: (context: ReadContext) => check(broker, context) }),
    ...(backend === null ? {} : { checkBackend: (context: ReadContext) => check(backend, context) }),
    async checkWorkers(context) {
      const mayPing = context.ping && ping !== null && collector.workerStatus().ok;
      return (mayPing ? await ping(context.signal) : null) ?? (await byHeartbeats(context));
    },
  };
}
