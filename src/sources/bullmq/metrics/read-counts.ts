/** The counts that BullMQ itself keeps of its queues, as in its `exportPrometheusMetrics`. */
import { debugChannel } from '../../../debug.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { type RedisServer, serversOf } from '../access/redis-servers.ts';
import { type QueueFigures, readQueueFigures } from '../components/queue-figures.ts';

/** Figures of a queue. */
export interface QueueCounts {
  readonly queue: string;
  /** Jobs by state. */
  readonly states: readonly (readonly [state: string, count: number])[];
  /** Jobs that ended, as workers with the option `metrics` count them; `null`: none has counted any. */
  readonly kept: { readonly completed: number; readonly failed: number } | null;
}

const debug = debugChannel('bullmq');

/** Queues that are read at once: they take about two milliseconds of a turn. */
const AT_ONCE = 20;

/**
 * Reads all queues: 14 commands for each. Queues of an unreachable server, and data that cannot be read in time, are
 * left out.
 *
 * @throws RedisError when the queues are unknown
 */
export async function readCounts(access: QueueAccess, options: ReadOptions): Promise<readonly QueueCounts[]> {
  const servers = serversOf(access, await access.queues(options)).filter(isThere);
  return (await Promise.all(servers.map(({ queues }) => readServer(access, queues, options)))).flat();
}

/** The events are read all the time, so unreachable servers are known. */
function isThere({ reader }: RedisServer): boolean {
  return reader.state().problem === null;
}

async function readServer(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly QueueCounts[]> {
  const read: QueueCounts[] = [];
  try {
    for (let from = 0; from < queues.length; from += AT_ONCE) {
      read.push(...(await readSome(access, queues.slice(from, from + AT_ONCE), options)));
    }
  } catch (error) {
    debug('jobs cannot be counted: %s', error instanceof Error ? error.message : 'unknown');
  }
  return read;
}

async function readSome(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly QueueCounts[]> {
  const [figures, kept] = await Promise.all([
    readQueueFigures(access, queues, options),
    access.read(
      queues.flatMap((queue) =>
        ['metrics:completed', 'metrics:failed'].map((part) => ({
          queue,
          command: ['HMGET', queue.key(part), 'count'],
        })),
      ),
      options,
    ),
  ]);
  return queues.map((queue, index) => {
    const own = figures.get(queue);
    const [completed, failed] = [kept[2 * index], kept[2 * index + 1]].map(countOf);
    return {
      queue: queue.name,
      states: own === undefined ? [] : statesOf(own),
      kept: completed == null && failed == null ? null : { completed: completed ?? 0, failed: failed ?? 0 },
    };
  });
}

function countOf(reply: unknown): number | null {
  return asNumber(asFields(reply)[0]);
}

/** BullMQ 6 has no state `paused`. */
function statesOf({ counts, version }: QueueFigures): QueueCounts['states'] {
  const isWithoutPaused = /^bullmq:(?:[6-9]|\d{2,})\./.test(version ?? '');
  return Object.entries(counts).filter(([state]) => state !== 'paused' || !isWithoutPaused);
}
