/**
 * All reads of this source from Redis: which queues there are, and the content of their keys. It never writes,
 * never creates a `Queue` and never closes a connection of the host.
 */
import type { Redactor } from '../../../redact.ts';
import type { RedisCommand } from '../../../redis/client.ts';
import { createHostReader, createIoredisReader } from '../../../redis/on-demand-reader.ts';
import { describeError, RedisError, withDeadline } from '../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asText, asTexts } from '../../../redis/replies.ts';
import type { ServerProblem } from '../../../server-problems.ts';
import { shareCalls } from '../../../single-flight.ts';
import type { ReadContext, SourceStatus } from '../../../source.ts';
import { pause } from '../../../waiting.ts';
import type { GivenQueue, ResolvedOptions } from './options.ts';
import {
  createQueueReads,
  createQueueRef,
  createReadParts,
  type JobRef,
  type QueueCommand,
  type QueueRef,
  type ReadCommands,
  type ReadParts,
  splitJobKey,
  splitTaskId,
  taskIdOf,
} from './queue-reads.ts';

/** The Redis servers of this source. */
export interface BullMQRedis {
  /** Reads for one request, or for one look of a collector. */
  within(options: ReadOptions): QueueAccess;
  /** The freshness of reads. Each answer may be shared for a second. */
  status(): SourceStatus;
  /** Sends every Redis a PING: the first problem, or `null`. */
  check(signal?: AbortSignal): Promise<ServerProblem | null>;
  /** Closes our own clients; later reads are refused. */
  close(): void;
}

/** Finds queues and reads them, until the signal is aborted or the time is up. */
export interface QueueAccess {
  /** Of all reads. */
  readonly options: ReadOptions & ReadContext;
  /** Removes secrets from what is read, before it is returned or searched; `null`: the router does. */
  readonly redactor: Redactor | null;
  /**
   * The queues to show, sorted by name. With a `connection`, they are searched for in Redis.
   *
   * @throws RedisError if that fails
   */
  queues(): Promise<readonly QueueRef[]>;
  /**
   * Replies of commands about any queues, in their order, with one write per Redis. The reply for a key of
   * another type is `null`, as if it were absent. Never send a command that blocks or writes: the client may be
   * the host's.
   *
   * @throws RedisError when Redis is unreachable, late, or refuses one of them
   */
  readonly read: ReadCommands;
  readonly readParts: ReadParts;
  /** One reader per Redis, for commands about a server and not about a queue. */
  readonly readers: readonly RedisReader[];
  /** The jobs of these task ids, which need not exist; `null` if no queue has that name. */
  find(taskIds: readonly string[]): Promise<readonly (JobRef | null)[]>;
  /** The job of a full key, as parents and children name each other; `null` if its queue is not shown. */
  jobOfKey(jobKey: string): JobRef | null;
  /** The task id of a full key, even if its queue is not shown; `null` for anything else. */
  taskIdOfKey(jobKey: string | null): string | null;
}

/** How long an answer may be shared, in milliseconds. */
const SHARED_MS = 1_000;
/** Pause between two checks while Redis is unreachable, in milliseconds. */
const CHECK_INTERVAL = 250;

/** Opens no connection before the first read. */
export function createBullMQRedis({ from, redactor }: ResolvedOptions): BullMQRedis {
  const deployment = from.kind === 'queues' ? givenQueues(from.queues) : discoveredQueues(from);
  const { readers, prefixes, known } = deployment;
  const readWithin = createQueueReads();
  const readPartsWithin = createReadParts();

  async function check(signal?: AbortSignal): Promise<ServerProblem | null> {
    const problems = await Promise.all(readers.map((reader) => reader.check(signal)));
    return problems.find((problem) => problem !== null) ?? null;
  }

  const keys: Pick<QueueAccess, 'jobOfKey' | 'taskIdOfKey'> = {
    jobOfKey(jobKey) {
      const parts = splitJobKey(jobKey, prefixes);
      const queue = parts === null ? undefined : known.get(parts.queue);
      return parts === null || queue?.prefix !== parts.prefix ? null : { queue, id: parts.jobId };
    },
    taskIdOfKey(jobKey) {
      const parts = jobKey === null ? null : splitJobKey(jobKey, prefixes);
      if (parts === null) return null;
      const { prefix, queue, jobId } = parts;
      // The queue of this name under another prefix is not the one that is shown here.
      return (known.get(queue)?.prefix ?? prefix) === prefix && prefixes.has(prefix)
        ? taskIdOf(queue, jobId)
        : jobKey;
    },
  };

  return {
    within(given) {
      const options = { ...given, signal: given.signal ?? new AbortController().signal };
      const queues = (): Promise<readonly QueueRef[]> => deployment.queues(options);
      return {
        ...keys,
        options,
        redactor,
        readers,
        queues,
        read: readWithin(options),
        readParts: readPartsWithin(options),
        async find(taskIds) {
          const byName = new Map((await queues()).map((queue) => [queue.name, queue]));
          return taskIds.map((taskId) => {
            const parts = splitTaskId(taskId);
            const queue = byName.get(parts?.queue ?? '');
            return parts === null || queue === undefined ? null : { queue, id: parts.jobId };
          });
        },
      };
    },
    status: createStatus(readers, check),
    check,
    close() {
      for (const reader of readers) void reader.close();
    },
  };
}

/** While Redis is unreachable, a request for the status also checks whether it is back. */
function createStatus(readers: readonly RedisReader[], check: () => Promise<unknown>): () => SourceStatus {
  let checkedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const states = readers.map((reader) => reader.state());
    const times = states.map(({ asOf }) => asOf);
    const oldest = times.includes(null) ? null : Math.min(...times.map(Number));
    if (states.every(({ problem }) => problem === null)) {
      // BullMQ has no stream of all changes (none of logs, for example), so answers expire with time.
      const now = Date.now();
      return { ok: true, asOf: new Date(now), revision: 0, changesAt: new Date(now + SHARED_MS) };
    }
    if (performance.now() - checkedAt > CHECK_INTERVAL) {
      checkedAt = performance.now();
      void check();
    }
    const reason = states.find(({ problem }) => problem !== null)?.problem?.sentence ?? null;
    const asOf = oldest === null ? null : new Date(oldest);
    return { ok: false, asOf, error: 'source_unavailable', reason };
  };
}

interface Deployment {
  readonly readers: readonly RedisReader[];
  readonly prefixes: ReadonlySet<string>;
  /** Every queue that has been seen, by name. */
  readonly known: ReadonlyMap<string, QueueRef>;
  queues(options: ReadOptions): Promise<readonly QueueRef[]>;
}

/** Queues that were made with one client share a reader. */
function givenQueues(given: readonly GivenQueue[]): Deployment {
  const readers = new Map<object, RedisReader>();
  const refs = given.map(({ name, prefix, owner, client }) => {
    const reader = readers.get(owner) ?? createHostReader(client);
    readers.set(owner, reader);
    return createQueueRef(name, prefix, reader);
  });
  refs.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    readers: [...readers.values()],
    prefixes: new Set(given.map(({ prefix }) => prefix)),
    known: new Map(refs.map((ref) => [ref.name, ref])),
    queues: async () => refs,
  };
}

function discoveredQueues(from: Exclude<ResolvedOptions['from'], { kind: 'queues' }>): Deployment {
  const { prefix } = from;
  const reader =
    from.kind === 'client' ? createHostReader(() => from.client) : createIoredisReader(from.address);
  const discover = discoverNames(prefix, reader);
  const refs = new Map<string, QueueRef>();

  function refOf(name: string): QueueRef {
    const ref = refs.get(name) ?? createQueueRef(name, prefix, reader);
    refs.set(name, ref);
    return ref;
  }

  return {
    readers: [reader],
    prefixes: new Set([prefix]),
    known: refs,
    queues: async (options) => (await discover(options)).map(refOf),
  };
}

/** How old the names of queues may be, in milliseconds. */
const SEARCH_INTERVAL_MS = 15_000;
/** How long the first call waits. */
const FIRST_WAIT_MS = 2_000;

/**
 * Finds the queues of a prefix, and keeps their names up to date while there are requests.
 *
 * @returns the names, sorted. The first call waits up to two seconds for a search. Later calls return the names of the
 *   last search, and start another search if that one is old. Throws a `RedisError` until a first search has succeeded
 */
function discoverNames(
  prefix: string,
  reader: RedisReader,
): (options: ReadOptions) => Promise<readonly string[]> {
  /** Found by the last search; during the first search, found so far. */
  let names = new Set<string>();
  /** When the last search ended, in monotonic milliseconds. */
  let searchedAt: number | null = null;
  const search = shareCalls(async () => {
    const isFirst = searchedAt === null;
    const found = isFirst ? names : new Set<string>();
    await searchNames(prefix, reader, found, isFirst ? 0 : PAUSE_MS);
    names = found;
    searchedAt = performance.now();
  });

  return async ({ signal, timeoutMs = FIRST_WAIT_MS }) => {
    if (searchedAt === null || performance.now() - searchedAt > SEARCH_INTERVAL_MS) {
      const searching = search();
      // No caller waits for a later search. If it fails, the next call searches again.
      searching.catch(() => {});
      if (searchedAt === null) {
        // If it takes too long, it continues, and the names found so far are used.
        await withDeadline(searching, { signal, ms: Math.min(timeoutMs, FIRST_WAIT_MS) }).catch(
          (error: unknown) => {
            const problem = describeError(error);
            if (problem.code !== 'TimeoutError' || names.size === 0) throw new RedisError(problem);
          },
        );
      }
    }
    return [...names].sort();
  };
}

/** Keys per step: such a step takes Redis less than a millisecond. */
const COUNT = '1000';
/** Pause between two steps of a search, except for the first search. */
const PAUSE_MS = 20;
/** In characters. */
const LONGEST_NAME = 256;
const MOST_QUEUES = 1_000;

/** Finds queues by the `meta` key that BullMQ writes for each. @param pauseMs between two steps; 0: none */
async function searchNames(
  prefix: string,
  reader: RedisReader,
  found: Set<string>,
  pauseMs: number,
): Promise<void> {
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}:*:meta`;
  /** The next SCAN cursor of each master of a cluster, until it has returned all keys. */
  let cursors = new Map<string, string>();
  do {
    const isBegun = cursors.size > 0;
    if (isBegun && pauseMs > 0) await pause(pauseMs);
    const replies = await reader.onEachMaster((master) => {
      const cursor = isBegun ? cursors.get(master) : '0';
      return cursor === undefined ? null : ['SCAN', cursor, 'MATCH', pattern, 'COUNT', COUNT];
    });
    cursors = new Map();
    for (const { master, reply } of replies) {
      const [cursor, keys]: readonly unknown[] = Array.isArray(reply) ? reply : [];
      for (const key of asTexts(keys)) {
        const name = key.slice(prefix.length + 1, -':meta'.length);
        // The key of a job with the id `meta` ends like this too.
        const isQueue = name !== '' && !name.includes(':') && name.length <= LONGEST_NAME;
        if (isQueue && found.size < MOST_QUEUES) found.add(name);
      }
      const next = asText(cursor) ?? '0';
      if (next !== '0') cursors.set(master, next);
    }
  } while (cursors.size > 0);
}

/** Replies to the commands about each item, in their order. */
export async function readPer<Item>(
  access: Pick<QueueAccess, 'read'>,
  items: readonly Item[],
  commandsOf: (item: Item) => readonly QueueCommand[],
): Promise<ReadonlyMap<Item, readonly unknown[]>> {
  const commands = items.map(commandsOf);
  const replies = await access.read(commands.flat());
  let next = 0;
  return new Map(
    items.map((item, index) => {
      const from = next;
      next += commands[index]?.length ?? 0;
      return [item, replies.slice(from, next)];
    }),
  );
}

/** A Redis or a cluster, to which there may be several connections. */
export interface RedisServer {
  readonly reader: RedisReader;
  /** The queues stored there. */
  readonly queues: readonly QueueRef[];
  /** Sends a command about the whole server. */
  onEachMaster(command: RedisCommand): ReturnType<RedisReader['onEachMaster']>;
}

/**
 * Servers with their queues, in the order of the links. Links with the same address belong to one server. Links
 * that have never answered have no address; they are treated as one server.
 */
export function serversOf(
  { readers, options }: QueueAccess,
  queues: readonly QueueRef[],
): readonly RedisServer[] {
  const servers = new Map<unknown, { readonly reader: RedisReader; readonly queues: QueueRef[] }>();
  function serverOf(reader: RedisReader): { readonly queues: QueueRef[] } {
    const key = reader.address() ?? (reader.state().asOf === null ? null : reader);
    const server = servers.get(key) ?? { reader, queues: [] };
    servers.set(key, server);
    return server;
  }
  for (const reader of readers) serverOf(reader);
  for (const queue of queues) serverOf(queue.reader).queues.push(queue);
  return [...servers.values()].map((server) => ({
    ...server,
    onEachMaster: (command) => server.reader.onEachMaster(() => command, options),
  }));
}
