import type { HealthCheck, WorkerHealthCheck } from '../../model.ts';
import { describeError, type RedisProblem } from '../../redis/problems.ts';
import type { ReadOptions } from '../../redis/reader.ts';
import type { HealthSource, ReadContext } from '../../source.ts';
import type { QueueAccess } from './access/queue-access.ts';
import { readSettings } from './components/queue-figures.ts';
import { readWorkers, WORKERS_HIDDEN } from './workers/read-workers.ts';

/**
 * Answers `/healthcheck`. Broker and backend are the same: BullMQ keeps queues and results in one Redis. It is
 * healthy if it answers and its queues can be read. Workers respond as long as they are connected; nothing is
 * sent to them, whether pings are allowed or not.
 */
export function createHealth(name: string, access: QueueAccess): HealthSource {
  async function checkRedis({ signal }: ReadContext): Promise<HealthCheck> {
    const problem = await findProblem(access, signal);
    return problem === null ? { ok: true, error: null } : { ok: false, error: problem.sentence };
  }

  return {
    name,
    status: access.status,
    checkBroker: checkRedis,
    checkBackend: checkRedis,
    checkWorkers: ({ signal }) => checkWorkers(access, signal),
  };
}

async function findProblem(access: QueueAccess, signal: AbortSignal): Promise<RedisProblem | null> {
  const [problem, failure] = await Promise.all([
    access.check(signal),
    readAll(access, { signal }).then(() => null, describeError),
  ]);
  // A user who may not ping may still be able to read.
  return problem === null || problem.code === 'NOPERM' ? failure : problem;
}

/** @throws RedisError if a queue cannot be read */
async function readAll(access: QueueAccess, options: ReadOptions): Promise<void> {
  await readSettings(access, await access.queues(options), options);
}

async function checkWorkers(access: QueueAccess, signal: AbortSignal): Promise<WorkerHealthCheck> {
  try {
    const workers = await readWorkers(access, { signal });
    if (workers === null) return { ok: null, error: WORKERS_HIDDEN.sentence, responding: [], missing: [] };
    const named = (status: string): string[] =>
      workers.filter((worker) => worker.status === status).map(({ hostname }) => hostname);
    const responding = named('online');
    const ok = responding.length > 0;
    // A worker that is not connected may still hold jobs whose locks have not expired yet.
    return { ok, error: ok ? null : 'No worker is connected.', responding, missing: named('stale') };
  } catch {
    const error = 'Redis cannot be reached, so it is unknown whether workers respond.';
    return { ok: false, error, responding: [], missing: [] };
  }
}
