/** What workers answer about themselves, as changes for the history (celery/worker/control.py). */
import type { WorkerChange } from '../../../history/history.ts';
import { recordOf } from '../../../values.ts';

const MAX_LIST = 10_000;
const MAX_NAME = 512;

/** The replies of one worker; `undefined` or `null` where there is none that can be read. */
export interface WorkerReplies {
  readonly stats?: unknown;
  readonly active_queues?: unknown;
  readonly registered?: unknown;
}

/**
 * What the replies say about the worker. Members that are malformed are left out.
 *
 * @param time when the worker was asked, milliseconds since 1970
 */
export function workerFactsOf(hostname: string, replies: WorkerReplies, time: number): WorkerChange {
  const stats = recordOf(replies.stats);
  const pool = recordOf(stats?.pool);
  const pid = count(stats?.pid);
  return {
    hostname,
    type: 'reply',
    time,
    ...defined('pid', pid),
    ...defined('uptimeSeconds', count(stats?.uptime)),
    ...defined('processed', sumOf(stats?.total)),
    ...defined('concurrency', count(pool?.['max-concurrency'])),
    ...defined('pool', poolName(pool, pid)),
    ...defined('poolSize', poolSize(pool)),
    ...defined('registeredTasks', registeredNames(replies.registered)),
    ...defined('queues', queueNames(replies.active_queues)),
  };
}

/** Names of the queues that a worker consumes; `undefined` when the reply does not say. */
export function queueNames(reply: unknown): string[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  return namesIn(reply.map((queue) => recordOf(queue)?.name));
}

/** `shop.pay`, or with the attributes of the task: `shop.pay [rate_limit=5/s]`. */
function registeredNames(reply: unknown): string[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  return namesIn(reply.map((name) => (typeof name === 'string' ? withoutInfo(name) : null)));
}

function withoutInfo(text: string): string {
  const start = text.endsWith(']') ? text.search(/ \[\w{1,40}=/) : -1;
  return start < 0 ? text : text.slice(0, start);
}

function namesIn(values: readonly unknown[]): string[] {
  const names = values.filter(
    (name): name is string => typeof name === 'string' && name !== '' && name.length <= MAX_NAME,
  );
  return [...new Set(names)].sort().slice(0, MAX_LIST);
}

/** Celery 5.3 and later name the pool (`celery.concurrency.prefork:TaskPool`); before, each pool has its own fields. */
function poolName(pool: Table | null, pid: number | undefined): string | undefined {
  if (pool === null) return undefined;
  const { implementation, processes } = pool;
  if (typeof implementation === 'string' && implementation !== '' && implementation.length <= MAX_NAME) {
    const own = /^celery\.concurrency\.(\w+):TaskPool$/.exec(implementation)?.[1];
    return own === 'thread' ? 'threads' : (own ?? implementation);
  }
  if (typeof pool.threads === 'number') return 'threads';
  if (pool['free-threads'] !== undefined) return 'eventlet';
  if (!Array.isArray(processes)) return undefined;
  if (pool.writes !== undefined) return 'prefork';
  // The solo pool has one process: that of the worker.
  return processes.length === 1 && processes[0] === pid ? 'solo' : undefined;
}

function poolSize(pool: Table | null): number | undefined {
  return Array.isArray(pool?.processes) ? pool.processes.length : count(pool?.threads);
}

/** What heartbeats call `processed`, here counted by the name of the task. */
function sumOf(total: unknown): number | undefined {
  const table = recordOf(total);
  if (table === null) return undefined;
  const counts = Object.values(table).map(count);
  return counts.every((value) => value !== undefined)
    ? counts.reduce((sum, value) => sum + value, 0)
    : undefined;
}

type Table = Readonly<Record<string, unknown>>;

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function defined<K extends keyof WorkerChange>(
  key: K,
  value: WorkerChange[K] | undefined,
): Partial<Pick<WorkerChange, K>> {
  return value === undefined ? {} : ({ [key]: value } as Pick<WorkerChange, K>);
}
