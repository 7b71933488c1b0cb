/**
 * The one way from this source to Redis: which queues there are, and reads of their keys. It never writes,
 * never makes a `Queue`, and never closes a connection of the host's.
 */
import { createHostReader, createIoredisReader } from '../../../redis/on-demand-reader.ts';
import type { RedisProblem } from '../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import type { SourceStatus } from '../../../source.ts';
import type { GivenQueue, ResolvedOptions } from './options.ts';
import { createQueueDiscovery } from './queue-discovery.ts';
import { createQueueReads, type QueueCommand } from './queue-reads.ts';
import {
  createQueueRef,
  type JobRef,
  type QueueRef,
  splitJobKey,
  splitTaskId,
  taskIdOf,
} from './queue-ref.ts';

/** Queues, and reads of them. */
export interface QueueAccess {
  /**
   * The queues to show, by name. Those of a `connection` are looked for in Redis.
   *
   * @throws RedisError if that fails
   */
  queues(options?: ReadOptions): Promise<readonly QueueRef[]>;
  /**
   * Replies of many commands about any queues, in their order: one write per Redis. A key of another type is
   * answered with `null`, as if it were absent. Never give it a command that blocks or writes: the client may
   * be the host's own.
   *
   * @throws RedisError when Redis is away, late, or refuses one of them
   */
  read(list: readonly QueueCommand[], options?: ReadOptions): Promise<unknown[]>;
  /** A reader of every Redis, each once: for what concerns a server and not a queue. */
  readers(): readonly RedisReader[];
  /** The job of this task id, which need not exist; `null` if no queue has that name. */
  find(taskId: string, options?: ReadOptions): Promise<JobRef | null>;
  /** The job of a whole key, as parents and children name each other; `null` if its queue is not shown. */
  jobOfKey(jobKey: string): JobRef | null;
  /** The task id of such a key, whether its queue is shown or not; `null` for anything else. */
  taskIdOfKey(jobKey: string): string | null;
  /** How fresh reads are. Each answer holds for a second, the longest that one body may be shared. */
  status(): SourceStatus;
  /** Sends every Redis a PING: the first problem, or `null`. */
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
  /** Ends clients of our own; later reads are refused. */
  close(): void;
}

/** The longest that an answer may be shared, in milliseconds. */
const SHARED_MS = 1_000;
/** Between two checks while Redis is away, in milliseconds. */
const CHECK_INTERVAL = 250;

/** Opens nothing until somebody reads. */
export function createQueueAccess({ from }: ResolvedOptions): QueueAccess {
  const { readers, queues, prefixes, known } =
    from.kind === 'queues' ? givenQueues(from.queues) : discoveredQueues(from);

  async function check(signal?: AbortSignal): Promise<RedisProblem | null> {
    const problems = await Promise.all(readers.map((reader) => reader.check(signal)));
    return problems.find((problem) => problem !== null) ?? null;
  }

  return {
    queues,
    read: createQueueReads(),
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
      // A queue of this name under another prefix is another queue than the one shown here.
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

/** While Redis is away, asking for the status also checks whether it is back. */
function createStatus(readers: readonly RedisReader[], check: () => Promise<unknown>): () => SourceStatus {
  let checkedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const states = readers.map((reader) => reader.state());
    const times = states.map(({ asOf }) => asOf);
    const oldest = times.includes(null) ? null : Math.min(...times.map(Number));
    if (states.every(({ problem }) => problem === null)) {
      // BullMQ has no stream of every change (of logs, say), so an answer expires by the clock.
      const now = Date.now();
      return { ok: true, asOf: new Date(now), revision: 0, changesAt: new Date(now + SHARED_MS) };
    }
    if (performance.now() - checkedAt > CHECK_INTERVAL) {
      checkedAt = performance.now();
      void check();
    }
    return { ok: false, asOf: oldest === null ? null : new Date(oldest), error: 'source_unavailable' };
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
