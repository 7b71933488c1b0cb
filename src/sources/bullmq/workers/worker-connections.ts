/**
 * Which workers are connected. BullMQ keeps no list of them: each names the connection that it waits on
 * after its queue, and after itself where it has a name (bullmq, utils/create-backend; 5: classes/worker).
 */
import { RedisError } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import { asText } from '../../../redis/replies.ts';
import type { RedisServer } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';

/** The connection of one worker to one queue. */
export interface WorkerConnection {
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
    const connections = found.get(owner.queue) ?? [];
    connections.push({ worker: owner.worker, address, ageSeconds });
    found.set(owner.queue, connections);
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
interface ClientConnection {
  /** As set by CLIENT SETNAME; empty if none was set. */
  readonly name: string;
  /** Remote host and port. */
  readonly address: string;
  /** Number of its database; `null` if not listed. */
  readonly database: number | null;
  /** Whole seconds since it was opened; `null` if not listed. */
  readonly ageSeconds: number | null;
}

/** The connections that have a name; none if the reply is no such list. */
function parseClientList(reply: unknown): readonly ClientConnection[] {
  return (asText(reply) ?? '')
    .split('\n')
    .map(connectionOf)
    .filter(({ name }) => name !== '');
}

/** A line is `id=3 addr=127.0.0.1:50000 name=bull:bWFpbA== age=12 db=0 …`; values contain no space. */
function connectionOf(line: string): ClientConnection {
  const fields = new Map<string, string>();
  for (const pair of line.trim().split(' ')) {
    const equals = pair.indexOf('=');
    if (equals > 0) fields.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  return {
    name: fields.get('name') ?? '',
    address: fields.get('addr') ?? '',
    database: wholeOf(fields.get('db')),
    ageSeconds: wholeOf(fields.get('age')),
  };
}

function wholeOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
