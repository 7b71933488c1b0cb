import type { Component } from '../../../model.ts';
import { redactComponent } from '../../../redact.ts';
import { describeError, type RedisProblem } from '../../../redis/problems.ts';
import type { ComponentSource } from '../../../source.ts';
import { type BullMQRedis, type QueueAccess, type RedisServer, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { isRefused, readWorkerConnections, type WorkersByQueue } from '../workers/worker-connections.ts';
import { hintsFor, QUEUES_HIDDEN, readServerFacts, type ServerFacts } from './hints.ts';
import { type QueueReport, readQueueReports } from './queue-figures.ts';

/** Most queues listed in `config`, those with the most jobs first. */
const MOST_QUEUES = 100;

/** Answers `/api/components/`: each Redis with its queues, as `redis`, `redis-2` and so on. */
export function createComponentSource(name: string, redis: BullMQRedis): ComponentSource {
  return {
    name,
    status: redis.status,
    async listComponents(context) {
      const access = redis.within(context);
      // Each server's component reports its own problem, and has an address as soon as it has answered.
      const unknown = access.readers.filter((reader) => !reader.state().up);
      const [{ queues, failure }] = await Promise.all([
        findQueues(access),
        ...unknown.map((reader) => reader.check(context.signal)),
      ]);
      return Promise.all(
        serversOf(access, queues).map(async (server, index) => {
          const key = index === 0 ? 'redis' : `redis-${index + 1}`;
          const component = await redisComponent(access, server, key, failure);
          return redactComponent(component, access.redactor);
        }),
      );
    },
  };
}

/** Distinguishes a failed search from a search without queues: `failure` is its reason, or `null`. */
async function findQueues(
  access: QueueAccess,
): Promise<{ readonly queues: readonly QueueRef[]; readonly failure: unknown }> {
  try {
    return { queues: await access.queues(), failure: null };
  } catch (failure) {
    return { queues: [], failure };
  }
}

async function redisComponent(
  access: QueueAccess,
  server: RedisServer,
  key: string,
  failure: unknown,
): Promise<Component> {
  const label = { key, name: 'Redis', enabled: true } as const;
  const { reader } = server;
  const { problem } = reader.state();
  if (problem !== null) return { ...label, ...failed(server, 'down', problem) };
  try {
    if (failure !== null) throw failure;
    const connected = readWorkerConnections(server);
    const [facts, workers, queues] = await Promise.all([
      readServerFacts(server),
      connected,
      readQueueReports(access, server.queues, connected),
    ]);
    return {
      ...label,
      status: 'up',
      pid: facts?.pid ?? null,
      url: reader.address(),
      config: configOf(queues, workers, facts),
    };
  } catch (error) {
    const status = isRefused(error) ? 'up' : 'down';
    return { ...label, ...failed(server, status, describeError(error)) };
  }
}

function failed(
  { reader }: RedisServer,
  status: Component['status'],
  problem: RedisProblem | null,
): Pick<Component, 'status' | 'url' | 'config'> {
  const isDenied = problem?.code === 'NOPERM';
  const hints = isDenied ? { hints: [QUEUES_HIDDEN], hint_codes: ['missing_right'] } : { hints: [] };
  return { status, url: reader.address(), config: { error: problem?.sentence ?? null, ...hints } };
}

function configOf(
  queues: readonly QueueReport[],
  workers: WorkersByQueue,
  facts: ServerFacts | null,
): Readonly<Record<string, unknown>> {
  return {
    version: facts?.version ?? null,
    mode: facts?.mode ?? null,
    maxmemory_policy: facts?.maxmemoryPolicy ?? null,
    maxmemory_bytes: facts?.maxmemory ?? null,
    used_memory_bytes: facts?.usedMemory ?? null,
    error: null,
    ...hintsFor({ queues, workers, facts }),
    queue_count: queues.length,
    queues: queues
      .toSorted((a, b) => b.waiting + b.reserved - (a.waiting + a.reserved))
      .slice(0, MOST_QUEUES)
      .map(({ name, isPaused, stalled, isWhole, concurrency, version, counts }) => ({
        name,
        paused: isPaused,
        // Unknown if there are too many active jobs to read all of them.
        stalled: isWhole ? stalled : null,
        concurrency,
        version,
        jobs: counts,
      })),
  };
}
