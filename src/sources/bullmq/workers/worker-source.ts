import { RedisError, type RedisProblem } from '../../../redis/problems.ts';
import type { WorkerSource } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { readWorkers } from './read-workers.ts';

/** The problem when CLIENT LIST is refused. */
export const WORKERS_HIDDEN: RedisProblem = {
  code: 'WORKERSHIDDEN',
  sentence: 'Redis does not allow this user to list clients, so the workers are unknown.',
};

/**
 * Answers `/api/workers/` from Redis' list of clients. Where that is forbidden it throws, which is answered
 * as `source_unavailable`: an empty list would say that there are none.
 */
export function createWorkerSource(name: string, access: QueueAccess): WorkerSource {
  return {
    name,
    status: access.status,
    async listWorkers({ signal }) {
      const workers = await readWorkers(access, { signal });
      if (workers === null) throw new RedisError(WORKERS_HIDDEN);
      return workers;
    },
  };
}
