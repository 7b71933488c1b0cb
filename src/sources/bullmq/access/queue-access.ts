/**
 * All reads of this source from Redis: which queues there are, and the content of their keys. It never writes,
 * never creates a `Queue` and never closes a connection of the host.
 */
import type { Redactor } from '../../../redact.ts';
import type { RedisCommand } from '../../../redis/client.ts';
import { createHostReader, createIoredisReader } from '../../../redis/on-demand-reader.ts';
import type { RedisProblem } from '../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asFields } from '../../../redis/replies.ts';
import type { ReadContext, SourceStatus } from '../../../source.ts';
import type { GivenQueue, ResolvedOptions } from './options.ts';
import { createQueueDiscovery } from './queue-discovery.ts';
import { createReadParts, type ReadParts } from './queue-parts.ts';
import {
  createQueueReads,
  createQueueRef,
  type JobRef,
  keyCommand,
  type QueueCommand,
  type QueueRef,
  type ReadCommands,
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
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
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
  taskIdOfKey(jobKey: string): string | null;
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

  async function check(signal?: AbortSignal): Promise<RedisProblem | null> {
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
      const parts = splitJobKey(jobKey, prefixes);
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
  queues(options?: ReadOptions): Promise<readonly QueueRef[]>;
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
  const discovery = createQueueDiscovery(prefix, reader);
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
    queues: async (options) => (await discovery.names(options)).map(refOf),
  };
}

/** Reads fields of jobs: one command for each job. All fields of a job that is gone are `null` or missing. */
export async function readFields(
  access: Pick<QueueAccess, 'read'>,
  jobs: readonly JobRef[],
  fields: readonly string[],
): Promise<readonly (readonly (string | null)[])[]> {
  const commands = jobs.map(({ queue, id }) => keyCommand(queue, 'HMGET', id, ...fields));
  return (await access.read(commands)).map(asFields);
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
