/** Each Redis with its queues, and hints: problems and hidden data, and what to change. */
import type { Component } from '../../../model.ts';
import { redactComponent } from '../../../redact.ts';
import { describeError } from '../../../redis/problems.ts';
import {
  asNumber,
  evictionHint,
  INFO_HIDDEN,
  infoOf,
  type ServerInfo,
  versionOf,
} from '../../../redis/replies.ts';
import type { ServerProblem } from '../../../server-problems.ts';
import { type QueueAccess, type RedisServer, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { MOST_ENTRIES } from '../schedules/schedules.ts';
import { isRefused, readActiveJobs, readWorkerConnections, type WorkersByQueue } from '../workers/workers.ts';
import { readQueueFigures, takeable } from './queues.ts';

/** Most queues listed in `config`, those with the most jobs first. */
const MOST_QUEUES = 100;

/** Answers `/api/components/`: each Redis with its queues, as `redis`, `redis-2` and so on. */
export async function listComponents(access: QueueAccess): Promise<readonly Component[]> {
  // Each server's component reports its own problem, and has an address as soon as it has answered.
  const unknown = access.readers.filter((reader) => !reader.state().up);
  const [{ queues, failure }] = await Promise.all([
    // A failed search is no search without queues.
    access.queues().then(
      (queues) => ({ queues, failure: null }),
      (failure: unknown) => ({ queues: [], failure }),
    ),
    ...unknown.map((reader) => reader.check(access.options.signal)),
  ]);
  return Promise.all(
    serversOf(access, queues).map(async (server, index) => {
      const key = index === 0 ? 'redis' : `redis-${index + 1}`;
      const component = await redisComponent(access, server, key, failure);
      return redactComponent(component, access.redactor);
    }),
  );
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
  problem: ServerProblem | null,
): Pick<Component, 'status' | 'url' | 'config'> {
  const isDenied = problem?.code === 'NOPERM';
  const hints = isDenied ? { hints: [QUEUES_HIDDEN], hint_codes: ['missing_right'] } : { hints: [] };
  return { status, url: reader.address(), config: { error: problem?.sentence ?? null, ...hints } };
}

function configOf(
  queues: readonly QueueReport[],
  workers: WorkersByQueue,
  facts: ServerFacts,
): Readonly<Record<string, unknown>> {
  return {
    version: facts?.version ?? null,
    mode: facts?.mode ?? null,
    maxmemory_policy: facts?.maxmemoryPolicy ?? null,
    maxmemory_bytes: facts?.maxmemory ?? null,
    used_memory_bytes: facts?.usedMemory ?? null,
    error: null,
    ...hintsFor(queues, workers, facts),
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

/** Most queues named by one rule. */
const MOST_NAMED = 5;

/** The members of a component's `config`: sentences that say what to change, the most serious first, and their codes. */
function hintsFor(
  queues: readonly QueueReport[],
  workers: WorkersByQueue,
  facts: ServerFacts,
): { readonly hints: string[]; readonly hint_codes: string[] } {
  const found: Readonly<Record<string, readonly string[]>> = {
    eviction_policy: evictionHints(facts),
    no_workers: queueHints(queues, isUnattended, unattended),
    stalled_jobs: queueHints(queues, ({ stalled }) => stalled > 0, stalledJobs),
    paused: queueHints(queues, ({ isPaused, waiting }) => isPaused && waiting > 0, paused),
    missing_right: accessHints(workers, facts),
    many_schedules: scheduleHints(queues),
  };
  return {
    hints: Object.values(found).flat(),
    hint_codes: Object.entries(found).flatMap(([code, sentences]) => sentences.map(() => code)),
  };
}

/** The hint for a user who may not read the queues themselves. */
const QUEUES_HIDDEN =
  'This Redis user may not read the queues. Run ACL SETUSER <user> ~bull:* +@read, with the prefix of the queues.';

function evictionHints(facts: ServerFacts): readonly string[] {
  const policy = facts?.maxmemoryPolicy ?? SAFE_POLICY;
  if (policy === SAFE_POLICY) return [];
  return [evictionHint(policy, 'jobs')];
}

/** Whether jobs wait without any worker: none is connected, and no job is active. */
function isUnattended({ waiting, consumers, reserved, stalled }: QueueReport): boolean {
  return waiting > 0 && consumers === 0 && reserved <= stalled;
}

function unattended({ name, waiting }: QueueReport): string {
  return (
    `No worker is connected to the queue ${quoted(name)}, where ${jobs(waiting)} ${waiting === 1 ? 'waits' : 'wait'}. ` +
    `Start one: new Worker(${quoted(name)}, processor, { connection }).`
  );
}

function stalledJobs({ name, stalled, isWhole, consumers }: QueueReport): string {
  const remedy =
    consumers === 0
      ? `Start one; it puts them back: new Worker(${quoted(name)}, processor, { connection }).`
      : 'Workers put them back within their stalledInterval (default 30 s). If they stay, a processor blocks the ' +
        'event loop: give the Worker a longer lockDuration, or a file as its processor.';
  return `The queue ${quoted(name)} has ${isWhole ? '' : 'at least '}${jobs(stalled)} stalled: taken by a worker that then lost its lock. ${remedy}`;
}

function paused({ name, waiting }: QueueReport): string {
  return (
    `The queue ${quoted(name)} is paused, and ${jobs(waiting)} ${waiting === 1 ? 'waits' : 'wait'}. ` +
    `Run await new Queue(${quoted(name)}, { connection }).resume().`
  );
}

function accessHints(workers: WorkersByQueue, facts: ServerFacts): readonly string[] {
  return [
    ...(workers === null
      ? [
          'This Redis user may not list clients, so workers are not shown. Run ACL SETUSER <user> +client|list',
        ]
      : []),
    ...(facts === null ? [INFO_HIDDEN] : []),
  ];
}

function scheduleHints(queues: readonly QueueReport[]): readonly string[] {
  const count = queues.reduce((sum, { schedules }) => sum + schedules, 0);
  if (count <= MOST_ENTRIES) return [];
  return [
    `There are ${count} schedules, and only ${MOST_ENTRIES} are listed: those that are due first in large queues. ` +
      "Make a separate source for such a queue: bullmqSources({ name: 'other', queues }).",
  ];
}

function queueHints(
  queues: readonly QueueReport[],
  isConcerned: (queue: QueueReport) => boolean,
  sentence: (queue: QueueReport) => string,
): readonly string[] {
  const concerned = queues.filter(isConcerned);
  const rest = concerned.length - MOST_NAMED;
  const sentences = concerned.slice(0, MOST_NAMED).map(sentence);
  return rest > 0 ? [...sentences, `The same applies to ${rest} more queues.`] : sentences;
}

function jobs(count: number): string {
  return count === 1 ? '1 job' : `${count} jobs`;
}

/** As a JavaScript string. */
function quoted(name: string): string {
  return JSON.stringify(name);
}

/** The settings of a server that BullMQ needs; `null`: this user may not read them. */
type ServerFacts = Awaited<ReturnType<typeof readServerFacts>>;

/** The policy that BullMQ needs: any other evicts jobs when memory is full. */
const SAFE_POLICY = 'noeviction';

/** Each is `null` if INFO does not report it. @returns `null` if this user may not run INFO */
async function readServerFacts(server: RedisServer) {
  try {
    const [facts, memory] = await Promise.all([readSection(server, 'server'), readSection(server, 'memory')]);
    const first: ServerInfo = facts[0] ?? new Map();
    const policies = memory.map((fields) => fields.get('maxmemory_policy') ?? null);
    return {
      version: versionOf(first),
      /** `standalone`, `cluster` or `sentinel`. Valkey 9 has the second name. */
      mode: first.get('redis_mode') ?? first.get('server_mode') ?? null,
      pid: facts.length > 1 ? null : asNumber(first.get('process_id')),
      /** Eviction policy. For a cluster, that of the first master that may evict jobs. */
      maxmemoryPolicy: policies.find((policy) => policy !== SAFE_POLICY) ?? policies[0] ?? null,
      /** In bytes; 0: no limit. For a cluster, the sum over its masters, as for `usedMemory`. */
      maxmemory: sumOf(memory, 'maxmemory'),
      usedMemory: sumOf(memory, 'used_memory'),
    };
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

/** The fields of a section of INFO, for each master. */
async function readSection(server: RedisServer, section: string): Promise<readonly ServerInfo[]> {
  const replies = await server.onEachMaster(['INFO', section]);
  return replies.map(({ reply }) => infoOf(reply));
}

function sumOf(sections: readonly ServerInfo[], field: string): number | null {
  const values = sections.map((fields) => asNumber(fields.get(field)));
  return values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((sum, value) => sum + Number(value), 0);
}

/** The data about a queue. */
type QueueReport = Awaited<ReturnType<typeof readQueueReports>>[number];

/**
 * Reads the lengths of queues, their workers and their stalled jobs.
 *
 * @param connected the connected workers; `null` if unknown
 */
async function readQueueReports(
  access: QueueAccess,
  queues: readonly QueueRef[],
  connected: Promise<WorkersByQueue>,
) {
  const [figures, active, workers] = await Promise.all([
    readQueueFigures(access, queues),
    readActiveJobs(access, queues),
    connected,
  ]);
  return queues.flatMap((queue) => {
    const [own, held] = [figures.get(queue), active.get(queue)];
    if (own === undefined || held === undefined) return [];
    return {
      ...own,
      name: queue.name,
      /** Jobs that a free worker could take now. */
      waiting: takeable(own.counts),
      /** Active jobs. */
      reserved: own.counts.active,
      /** Connected workers; `null` when they cannot be listed. */
      consumers: workers?.get(queue)?.length ?? null,
      /** Active jobs whose lock has expired, among those read. */
      stalled: held.jobs.filter(({ isLost }) => isLost).length,
      /** Whether all active jobs were read. */
      isWhole: held.isWhole,
    };
  });
}
