/**
 * The workers: the jobs that they hold, up to a limit, and which of them are connected. BullMQ keeps no list of workers:
 * each names the connection that it waits on after its queue, and after itself where it has a name (bullmq,
 * utils/create-backend; 5: classes/worker).
 */
import type { Worker } from '../../../model.ts';
import { RedisError } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import { asCount, asText, asTexts } from '../../../redis/replies.ts';
import type { ServerProblem } from '../../../server-problems.ts';
import { addTo } from '../../../values.ts';
import { readFields } from '../access/hash-reads.ts';
import { type QueueAccess, type RedisServer, serversOf } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { shortText, timeOf } from '../jobs/job-hash.ts';
import { findLostJobs } from '../jobs/job-loader.ts';
import { isMarker } from '../jobs/job-sets.ts';

/** A job that a worker took and has not finished. */
export type ActiveJob = Awaited<ReturnType<typeof withWorkers>>[number];

/** The active jobs of one queue. */
interface ActiveJobs {
  readonly count: number;
  /** The jobs taken first, which are the most likely to be stuck. */
  readonly jobs: readonly ActiveJob[];
  /** Whether `jobs` holds all of them. */
  readonly isWhole: boolean;
}

/** Jobs read for one answer, over all queues. */
const MOST_JOBS = 1_000;

export async function readActiveJobs(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, ActiveJobs>> {
  const parts = await access.readParts(queues, ['active']);
  const counts = new Map([...parts].map(([queue, { active }]) => [queue, asCount(active)]));
  const busy = queues.filter((queue) => counts.get(queue) !== 0);
  const share = Math.max(1, Math.floor(MOST_JOBS / Math.max(1, busy.length)));
  const lists = await access.read(busy.map((queue) => keyCommand(queue, 'LRANGE', 'active', -share, -1)));
  const jobs = await withWorkers(
    access,
    busy.flatMap((queue, index) =>
      asTexts(lists[index])
        .filter((id) => !isMarker(id))
        .map((id) => ({ queue, id })),
    ),
  );
  const found = new Map(queues.map((queue) => [queue, [] as ActiveJob[]]));
  for (const job of jobs) found.get(job.queue)?.push(job);
  return new Map(
    [...counts].map(([queue, count]) => [
      queue,
      { count, jobs: found.get(queue) ?? [], isWhole: count <= share },
    ]),
  );
}

async function withWorkers(access: QueueAccess, jobs: readonly JobRef[]) {
  const [fields, lost] = await Promise.all([
    readFields(access, jobs, ['pb', 'name', 'processedOn']),
    findLostJobs(access, jobs),
  ]);
  return jobs.map((job, index) => {
    const [worker, name, processedOn] = fields[index] ?? [];
    return {
      ...job,
      /** Name of the worker that took it; `null` if the worker has none. */
      worker: shortText(worker) || null,
      /** `null`: not known. */
      name: shortText(name),
      /** When its run began, in milliseconds since 1970; `null`: not known. */
      startedAt: timeOf(processedOn),
      /** Whether the worker's lock on it has expired: BullMQ calls such a job stalled. */
      isLost: lost.has(job),
    };
  });
}

/** The connection of one worker to one queue. */
interface WorkerConnection {
  /** Its own name; `null` if it has none. */
  readonly worker: string | null;
  /** Remote host and port. */
  readonly address: string;
  /** Whole seconds since it was opened; `null` if not known. */
  readonly ageSeconds: number | null;
}

/** By queue; `null` if the server refuses CLIENT LIST. */
export type WorkersByQueue = ReadonlyMap<QueueRef, readonly WorkerConnection[]> | null;

/**
 * Reads the connections of workers of one server.
 *
 * @returns an entry for every queue of the server, also for those without a worker
 */
export async function readWorkerConnections(server: RedisServer): Promise<WorkersByQueue> {
  const { reader, queues } = server;
  const lists = await readClientLists(server);
  if (lists === null) return null;
  const database = databaseOf(reader);
  const byQueue = new Map<QueueRef, readonly WorkerConnection[]>(queues.map((queue) => [queue, []]));
  const byName = new Map(queues.map((queue) => [clientName(queue), queue]));
  for (const list of lists) {
    for (const [queue, connections] of workersIn(list, byName, database)) {
      // A worker of a cluster may be connected to several nodes; the one that has its queue knows all of them.
      if (connections.length > (byQueue.get(queue)?.length ?? 0)) byQueue.set(queue, connections);
    }
  }
  return byQueue;
}

/** @returns one list per master; `null` if the command is forbidden or removed, as on some hosted servers */
async function readClientLists(
  server: RedisServer,
): Promise<readonly (readonly ClientConnection[])[] | null> {
  try {
    const replies = await server.onEachMaster(['CLIENT', 'LIST']);
    return replies.map(({ reply }) => parseClientList(reply));
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

/** Whether Redis works but refuses the command. */
export function isRefused(error: unknown): boolean {
  return error instanceof RedisError && ['NOPERM', 'UNKNOWNCOMMAND'].includes(error.problem.code);
}

/** The workers among these connections, by queue. */
function workersIn(
  list: readonly ClientConnection[],
  byName: ReadonlyMap<string, QueueRef>,
  database: number | null,
): ReadonlyMap<QueueRef, readonly WorkerConnection[]> {
  const found = new Map<QueueRef, WorkerConnection[]>();
  for (const { name, address, ageSeconds, database: own } of list) {
    // A queue of this name in another database is another queue.
    if (database !== null && own !== null && own !== database) continue;
    const owner = ownerOf(name, byName);
    if (owner === null) continue;
    addTo(found, owner.queue, { worker: owner.worker, address, ageSeconds });
  }
  return found;
}

const WORKER_MARK = ':w:';

function clientName({ prefix, name }: QueueRef): string {
  return `${prefix}:${Buffer.from(name).toString('base64')}`;
}

/** Whose connection this is. A prefix may hold the mark, too, and so may the name of a worker. */
function ownerOf(
  name: string,
  byName: ReadonlyMap<string, QueueRef>,
): { readonly queue: QueueRef; readonly worker: string | null } | null {
  const unnamed = byName.get(name);
  if (unnamed !== undefined) return { queue: unnamed, worker: null };
  for (let at = name.indexOf(WORKER_MARK); at >= 0; at = name.indexOf(WORKER_MARK, at + 1)) {
    const queue = byName.get(name.slice(0, at));
    if (queue !== undefined) return { queue, worker: name.slice(at + WORKER_MARK.length) || null };
  }
  return null;
}

/** The database in the reader's address; `null` if not known. */
function databaseOf(reader: RedisReader): number | null {
  const [, database] = /^redis(?:s|-sentinel)?:.*\/(\d+)$/.exec(reader.address() ?? '') ?? [];
  return database === undefined ? null : Number(database);
}

/** A connection of some client. */
type ClientConnection = ReturnType<typeof connectionOf>;

/** The connections that have a name; none if the reply is no such list. */
function parseClientList(reply: unknown): readonly ClientConnection[] {
  return (asText(reply) ?? '')
    .split('\n')
    .map(connectionOf)
    .filter(({ name }) => name !== '');
}

/** A line is `id=3 addr=127.0.0.1:50000 name=bull:bWFpbA== age=12 db=0 …`; values contain no space. */
function connectionOf(line: string) {
  const fields = new Map<string, string>();
  for (const pair of line.trim().split(' ')) {
    const equals = pair.indexOf('=');
    if (equals > 0) fields.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  return {
    /** As set by CLIENT SETNAME; empty if none was set. */
    name: fields.get('name') ?? '',
    /** Remote host and port. */
    address: fields.get('addr') ?? '',
    /** Number of its database; `null` if not listed. */
    database: wholeOf(fields.get('db')),
    /** Whole seconds since it was opened; `null` if not listed. */
    ageSeconds: wholeOf(fields.get('age')),
  };
}

function wholeOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * Reads which workers serve which queue.
 *
 * @returns `null` if a server refuses CLIENT LIST: the list would be incomplete
 */
export async function readWorkers(access: QueueAccess): Promise<readonly Worker[] | null> {
  const queues = await access.queues();
  // Jobs before connections: a worker that took a job was connected by then.
  const active = await readActiveJobs(access, queues);
  const byServer = await Promise.all(
    serversOf(access, queues).map((server) => readWorkerConnections(server)),
  );
  const crews: QueueCrew[] = [];
  for (const connections of byServer) {
    if (connections === null) return null;
    for (const [queue, own] of connections) {
      const held = active.get(queue);
      if (held !== undefined) crews.push({ queue, connections: own, active: held });
    }
  }
  return workersOf(crews.sort((a, b) => (a.queue.name < b.queue.name ? -1 : 1)));
}

/** Workers and active jobs of one queue. */
interface QueueCrew {
  readonly queue: QueueRef;
  readonly connections: readonly WorkerConnection[];
  readonly active: ActiveJobs;
}

/**
 * One row per worker that is connected, and one per name that holds a job without being connected. Those of
 * the same name are one row: the jobs that they hold tell them apart no more. One without a name is called
 * after its queue and where it connects from, as `mail@10.0.0.7:51234`.
 */
function workersOf(crews: readonly QueueCrew[]): readonly Worker[] {
  const rows = new Map<string, Worker>();
  for (const row of [...unnamedWorkers(crews), ...namedWorkers(crews), ...absentWorkers(crews)]) {
    rows.set(row.hostname, row);
  }
  return [...rows.values()];
}

function unnamedWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  return crews.flatMap(({ queue, connections, active }) =>
    connections
      .filter(({ worker }) => worker === null)
      .map(
        ({ address, ageSeconds }): Worker => ({
          hostname: `${queue.name}@${address}`,
          status: 'online',
          queues: [queue.name],
          // Jobs do not say which unnamed worker holds them; only an empty queue is certain.
          active: active.count === 0 ? 0 : null,
          uptimeSeconds: ageSeconds,
        }),
      ),
  );
}

function namedWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  const names = new Map<string, { readonly crews: Set<QueueCrew>; readonly ages: (number | null)[] }>();
  for (const crew of crews) {
    for (const { worker, ageSeconds } of crew.connections) {
      if (worker === null) continue;
      const known = names.get(worker) ?? { crews: new Set(), ages: [] };
      known.crews.add(crew);
      known.ages.push(ageSeconds);
      names.set(worker, known);
    }
  }
  const held = countHeld(crews);
  return [...names].map(([hostname, { crews: own, ages }]) => ({
    hostname,
    status: 'online',
    queues: [...own].map(({ queue }) => queue.name),
    active: [...own].every(({ active }) => active.isWhole) ? (held.get(hostname) ?? 0) : null,
    // The age of its oldest connection.
    uptimeSeconds: ages.includes(null) ? null : Math.max(...ages.map(Number)),
  }));
}

/** Active jobs by worker name, without those whose lock has expired. */
function countHeld(crews: readonly QueueCrew[]): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const { worker, isLost } of crews.flatMap(({ active }) => active.jobs)) {
    if (worker !== null && !isLost) held.set(worker, (held.get(worker) ?? 0) + 1);
  }
  return held;
}

/**
 * Workers that hold jobs and are not connected. While the lock of a job is valid, the worker has just left or is
 * closing; once it has expired, the worker is gone. BullMQ remembers no others.
 */
function absentWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  const connected = new Set(crews.flatMap(({ connections }) => connections.map(({ worker }) => worker)));
  const absent = new Map<string, ActiveJob[]>();
  for (const job of crews.flatMap(({ active }) => active.jobs)) {
    if (job.worker !== null && !connected.has(job.worker)) addTo(absent, job.worker, job);
  }
  const isWhole = crews.every(({ active }) => active.isWhole);
  return [...absent].map(([hostname, jobs]) => {
    const held = jobs.filter(({ isLost }) => !isLost);
    return {
      hostname,
      status: held.length === 0 ? 'offline' : canBeListed(hostname) ? 'stale' : 'online',
      queues: [...new Set(jobs.map(({ queue }) => queue.name))],
      active: isWhole ? held.length : null,
    };
  });
}

/** Redis accepts only these characters in connection names; other workers are known by their jobs alone. */
function canBeListed(name: string): boolean {
  return /^[!-~]+$/.test(name);
}

/** The problem when CLIENT LIST is refused. */
export const WORKERS_HIDDEN: ServerProblem = {
  code: 'WORKERSHIDDEN',
  sentence: 'Redis does not allow this user to list clients, so the workers are unknown.',
};

/**
 * Answers `/api/workers/` from Redis' list of clients. Where that is forbidden it throws, which is answered
 * as `source_unavailable`: an empty list would say that there are none.
 */
export async function listWorkers(access: QueueAccess): Promise<readonly Worker[]> {
  const workers = await readWorkers(access);
  if (workers === null) throw new RedisError(WORKERS_HIDDEN);
  return workers;
}
