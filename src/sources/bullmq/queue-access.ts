/**
 * The one way to Redis of this source: which queues there are, and reads of their keys. It never writes,
 * never makes a `Queue`, and never closes a connection of the host's.
 */

import { commanderOf, type RedisCommand, type RedisCommander } from '../../redis/client.ts';
import { type OwnClient, openOwnClient } from '../../redis/ioredis.ts';
import type { RedisProblem } from '../../redis/problems.ts';
import type { ReadOptions } from '../../redis/reader.ts';
import { createRedisLink, type RedisLink } from '../../redis/shared-reader.ts';
import type { SourceStatus } from '../../source.ts';
import type { GivenQueue, ResolvedOptions } from './options.ts';
import { createQueueDiscovery } from './queue-discovery.ts';
import {
  createQueueRef,
  type JobRef,
  type QueueRef,
  splitJobKey,
  splitTaskId,
  taskIdOf,
} from './queue-ref.ts';

/** One command about one queue: all its keys are of that queue. */
export interface QueueCommand {
  readonly queue: QueueRef;
  readonly command: RedisCommand;
}

/** Queues, and reads of them. */
export interface QueueAccess {
  /**
   * The queues to show, by name. Those of a `connection` are looked for in Redis.
   *
   * @throws RedisError where that cannot be done
   */
  queues(options?: ReadOptions): Promise<readonly QueueRef[]>;
  /**
   * Replies of many commands about any queues, in their order: one write per Redis, in a cluster one per
   * queue. As {@link RedisLink.commands}: never one that blocks or writes, `null` for a key of another type.
   *
   * @throws RedisError when Redis is away, late, or refuses one of them
   */
  read(list: readonly QueueCommand[], options?: ReadOptions): Promise<unknown[]>;
  /** Every Redis that is read, each once: for what concerns a server and not a queue. */
  links(): readonly RedisLink[];
  /** Where the task of this id lies, `null` where no queue is called so. It need not exist. */
  find(taskId: string, options?: ReadOptions): Promise<JobRef | null>;
  /** The job of a whole key, as parents and children name each other; `null` where its queue is not shown. */
  jobOfKey(jobKey: string): JobRef | null;
  /** The task id that such a key stands for, whether its queue is shown or not; `null` for what is no key. */
  taskIdOfKey(jobKey: string): string | null;
  /** How current reads are. Each answer holds for a second, the longest that one body may be shared. */
  status(): SourceStatus;
  /** Asks every Redis for a sign of life: what is wrong with the first that is not well, or `null`. */
  check(signal?: AbortSignal): Promise<RedisProblem | null>;
  /** Ends clients of our own; later reads are refused. */
  close(): void;
}

/** The longest that an answer may be shared, in milliseconds. */
const SHARED_MS = 1_000;
/** Between two signs of life that are asked for while Redis is away, in milliseconds. */
const PROBE_INTERVAL = 250;

export function createQueueAccess({ from }: ResolvedOptions): QueueAccess {
  const { links, queues, prefixes, known } =
    from.kind === 'queues' ? givenQueues(from.queues) : discoveredQueues(from);
  let probedAt = Number.NEGATIVE_INFINITY;

  async function check(signal?: AbortSignal): Promise<RedisProblem | null> {
    const problems = await Promise.all(links.map((link) => link.check(signal)));
    return problems.find((problem) => problem !== null) ?? null;
  }

  async function read(list: readonly QueueCommand[], options?: ReadOptions): Promise<unknown[]> {
    const groups = new Map<object, { link: RedisLink; commands: RedisCommand[]; places: number[] }>();
    const used = [...new Set(list.map(({ queue }) => queue.link))];
    const clusters = new Set<RedisLink>();
    for (const link of used) if (await link.isCluster(options)) clusters.add(link);
    for (const [place, { queue, command }] of list.entries()) {
      const { link } = queue;
      const by = clusters.has(link) ? queue : link;
      let group = groups.get(by);
      if (group === undefined) {
        group = { link, commands: [], places: [] };
        groups.set(by, group);
      }
      group.commands.push(command);
      group.places.push(place);
    }
    const replies: unknown[] = new Array(list.length).fill(null);
    await Promise.all(
      [...groups.values()].map(async ({ link, commands, places }) => {
        const answers = await link.commands(commands, options);
        for (const [index, place] of places.entries()) replies[place] = answers[index];
      }),
    );
    return replies;
  }

  function status(): SourceStatus {
    const states = links.map((link) => link.state());
    const down = states.find(({ ok }) => !ok);
    const times = states.map(({ asOf }) => asOf);
    const oldest = times.includes(null) ? null : Math.min(...times.map(Number));
    const asOf = oldest === null ? null : new Date(oldest);
    if (down === undefined) {
      // BullMQ tells no stream of every change (of logs, say), so it is the clock that ends an answer.
      const now = Date.now();
      return { ok: true, asOf: new Date(now), revision: 0, changesAt: new Date(now + SHARED_MS) };
    }
    if (performance.now() - probedAt > PROBE_INTERVAL) {
      probedAt = performance.now();
      void check();
    }
    return { ok: false, asOf, error: 'source_unavailable' };
  }

  return {
    queues,
    read,
    links: () => links,
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
      // One of another prefix is another job than the one of that name here.
      return (known.get(queue)?.prefix ?? prefix) === prefix && prefixes.has(prefix)
        ? taskIdOf(queue, jobId)
        : jobKey;
    },
    status,
    check,
    close() {
      for (const link of links) link.close();
    },
  };
}

interface Deployment {
  readonly links: readonly RedisLink[];
  readonly prefixes: ReadonlySet<string>;
  /** Every queue that has been seen, by name. */
  readonly known: ReadonlyMap<string, QueueRef>;
  queues(options?: ReadOptions): Promise<readonly QueueRef[]>;
}

/** Queues that were made with one client share a link. */
function givenQueues(given: readonly GivenQueue[]): Deployment {
  const links = new Map<object, RedisLink>();
  const refs = given.map(({ name, prefix, owner, client }) => {
    const link = links.get(owner) ?? createRedisLink({ open: async () => adopt(await client()) });
    links.set(owner, link);
    return createQueueRef(name, prefix, link);
  });
  refs.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    links: [...links.values()],
    prefixes: new Set(given.map(({ prefix }) => prefix)),
    known: new Map(refs.map((ref) => [ref.name, ref])),
    queues: async () => refs,
  };
}

function discoveredQueues(from: Exclude<ResolvedOptions['from'], { kind: 'queues' }>): Deployment {
  const { prefix } = from;
  const link = from.kind === 'client' ? hostLink(from.client) : ownLink(() => openOwnClient(from.address));
  const discovery = createQueueDiscovery(prefix, link);
  const refs = new Map<string, QueueRef>();

  function refOf(name: string): QueueRef {
    let ref = refs.get(name);
    if (ref === undefined) {
      ref = createQueueRef(name, prefix, link);
      refs.set(name, ref);
    }
    return ref;
  }
  return {
    links: [link],
    prefixes: new Set([prefix]),
    known: refs,
    queues: async (options) => (await discovery.names(options)).map(refOf),
  };
}

function hostLink(client: object): RedisLink {
  return createRedisLink({ open: async () => adopt(client) });
}

/** Whoever asks while it is being opened waits for the same client. */
function ownLink(connect: () => Promise<OwnClient>): RedisLink {
  let opening: Promise<OwnClient> | null = null;
  return createRedisLink({
    async open() {
      opening ??= connect();
      return (await opening).commander;
    },
    drop() {
      const dropped = opening;
      opening = null;
      // One that is still connecting ends as soon as it has.
      dropped?.then(
        ({ end }) => end(),
        () => {},
      );
    },
  });
}

/** @throws TypeError for a client of a kind that is not known */
function adopt(client: unknown): RedisCommander {
  const commander = commanderOf(client);
  if (commander === null) {
    throw new TypeError('This client of Redis is none of ioredis or node-redis.');
  }
  return commander;
}
