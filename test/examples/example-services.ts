import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { type Example, waitFor } from './example-process.ts';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const hasCelery = ['python3', '/usr/bin/python3'].some(
  (python) => spawnSync(python, ['-c', 'import celery, redis']).status === 0,
);

/** What to install for the examples that start a Redis; `null` when nothing. */
export const redisMissing: string | null = hasRedis ? null : 'install redis-server';
/** What to install for those that start Celery, too. */
export const celeryMissing: string | null =
  hasRedis && hasCelery ? null : 'install redis-server python3-celery python3-redis';

/** Whether something listens on a port of this machine. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The port of the Redis that an example says it has started. */
export function redisPortOf({ printed }: Example): number {
  return Number(/redis:\/\/127\.0\.0\.1:(\d+)/.exec(printed())?.[1]);
}

/** The first so many paths to graphs that an example prints: those of its first orders. */
export async function graphPaths({ printed }: Example, count = 1): Promise<readonly string[]> {
  const find = (): readonly string[] => printed().match(/\/api\/tasks\/[^\s/]+\/graph\//g) ?? [];
  return waitFor(find, (paths) => paths.length >= count, 60_000);
}

/** Resolves once a task of this name has succeeded; until everything has started, answers may be problems. */
export async function untilSucceeded({ base }: Example, name: string): Promise<void> {
  await waitFor(
    () => ask<Partial<TasksBody>>(base, `/api/tasks/?name=${name}&state=SUCCESS&limit=1`),
    ({ body }) => body.tasks?.length === 1,
    60_000,
  );
}

/** Resolves once every part that is checked is well. */
export async function untilHealthy({ base }: Example): Promise<void> {
  await waitFor(
    () => ask(base, '/healthcheck'),
    ({ status }) => status === 200,
    60_000,
  );
}
