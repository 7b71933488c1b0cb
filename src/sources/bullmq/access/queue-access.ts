/**
 * All reads of this source from Redis: which queues there are, and the content of their keys. It never writes,
 * never creates a `Queue` and never closes a connection of the host.
 */
import type { Redactor } from '../../../redact.ts';
import { createHostReader, createIoredisReader } from '../../../redis/on-demand-reader.ts';
import type { RedisProblem } from '../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asFields } from '../../../redis/replies.ts';
import type { SourceStatus } from '../../../source.ts';
import type { GivenQueue, ResolvedOptions } from './options.ts';
import { createQueueDiscovery } from './queue-discovery.ts';
import {
  createQueueReads,
  createQueueRef,
  createReadEach,
  type JobRef,
  type QueueCommand,
  type QueueRef,
  type ReadEach,
  splitJobKey,
  splitTaskId,
  taskIdOf,
} from './queue-reads.ts';

/** Finds queues and reads them. */
export interface QueueAccess {
  /** Removes secrets from what is read, before it is returned or searched; `null`: the router does. */
  readonly redactor: Redactor | null;
  /**
   * The queues to show, sorted by name. With a `connection`, they are searched for in Redis.
   *
   * @throws RedisError if that fails
   */
  queues(options?: ReadOptions): Promise<readonly QueueRef[]>;
  /**
   * Replies of commands about any queues, in their order, with one write per Redis. The reply for a key of
   * another type is `null`, as if it were absent. Never send a command that blocks or writes: the client may be
   * the host's.
   *
   * @throws RedisError when Redis is unreachable, late, or refuses one of them
   */
  read(list: readonly QueueCommand[], options?: ReadOptions): Promise<unknown[]>;
  /** Reads the same of each queue: lengths, settings and heads, which several parts ask for in one look. */
  readonly readEach: ReadEach;
  /** One reader per Redis, for commands about a server and not about a queue. */
  readers(): readonly RedisReader[];
  /** The job of this task id, which need not exist; `null` if no queue has that name. */
  find(taskId: string, options?: ReadOptions): Promise<JobRef | null>;
  /** The job of a full key, as parents and children name each other; `null` if its queue is not shown. */
  jobOfKey(jobKey: string): JobRef | null;
  /** The task id of a full key, even if its queue is not shown; `null` for anything else. */
  taskIdOfKey(jobKey: string): string | null;
  /** The freshness of reads. Each answer may be shared for a second. */
  status(): SourceStatus;
  /** Sends every Redis a PING: the first problem, or `null`. */
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
  /** Closes our own clients; later reads are refused. */
  close(): void;
}

/** How long an answer may be shared, in milliseconds. */
const SHARED_MS = 1_000;
/** Pause between two checks while Redis is unreachable, in milliseconds. */
const CHECK_INTERVAL = 250;

/** Opens no connection before the first read. */
export function createQueueAccess({ from, redactor }: ResolvedOptions): QueueAccess {
  const { readers, queues, prefixes, known } =
    from.kind === 'queues' ? givenQueues(from.queues) : discoveredQueues(from);

  async function check(signal?: AbortSignal): Promise<RedisProblem | null> {
    const problems = await Promise.all(readers.map((reader) => reader.check(signal)));
    return problems.find((problem) => problem !== null) ?? null;
  }

  return {
    redactor,
    queues,
    read: createQueueReads(),
    readEach: createReadEach(),
    readers: () => readers,
    async find(taskId, options) {
      const parts = splitTaskId(taskId);
      if (parts === null) return null;
      const queue = (await queues(options)).find(({ name }) => name === parts.queue);
      return queue === undefined ? null : { queue, id: parts.jobId };
    },
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
  options: ReadOptions,
): Promise<readonly (readonly (string | null)[])[]> {
  const commands = jobs.map(({ queue, id }) => ({ queue, command: ['HMGET', queue.key(id), ...fields] }));
  return (await access.read(commands, options)).map(asFields);
}

/** A Redis or a cluster, to which there may be several connections. */
export interface RedisServer {
  /** A reader for commands about the whole server. */
  readonly reader: RedisReader;
  /** The queues stored there. */
  readonly queues: readonly QueueRef[];
}

/**
 * Servers with their queues, in the order of the links. Links with the same address belong to one server. Links
 * that have never answered have no address; they are treated as one server.
 */
export function serversOf(access: QueueAccess, queues: readonly QueueRef[]): readonly RedisServer[] {
  const servers = new Map<unknown, { readonly reader: RedisReader; readonly queues: QueueRef[] }>();
  function serverOf(reader: RedisReader): { readonly queues: QueueRef[] } {
    const key = reader.address() ?? (reader.state().asOf === null ? null : reader);
    const server = servers.get(key) ?? { reader, queues: [] };
    servers.set(key, server);
    return server;
  }
  for (const reader of access.readers()) serverOf(reader);
  for (const queue of queues) serverOf(queue.reader).queues.push(queue);
  return [...servers.values()];
}
