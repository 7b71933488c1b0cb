/**
 * Reads how many messages are ready in each queue, and how many consume it, by passive declarations. Messages are never
 * taken out to look at them: that would reorder them and mark them as redelivered.
 */
import type { AmqpChannel } from '../../../../../amqp/channel.ts';
import type { AmqpConnection } from '../../../../../amqp/connection.ts';
import { describeAmqpError } from '../../../../../amqp/problems.ts';
import { filledString } from '../../../../../values.ts';
import { waitFor } from '../../../../../waiting.ts';
import { NOTHING_READ, type QueueCounts, type QueueReader, type QueueReading } from '../../../broker.ts';
import type { CelerySettings } from '../../../settings.ts';
import type { ManagedQueues } from '../management/managed-queues.ts';
import { configuredQueues, type QueueKinds, queueKinds } from './queue-names.ts';

/** Most queues that are read. */
const MAX_QUEUES = 1000;
/** How long the first reading waits for the management API, in milliseconds. */
const FIRST_WAIT_MS = 800;
/**
 * Milliseconds until a queue that does not exist is searched again, doubled each time: it costs a channel and a line in
 * RabbitMQ's log. And the maximum number of such queues in one reading.
 */
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 600_000;
const MOST_MISSED = 10;

/** Parameters of a reader. */
export interface AmqpQueueReaderOptions {
  /** Not one that messages are published on: RabbitMQ stops reading from those while it is short of memory. */
  readonly connection: AmqpConnection;
  readonly settings: CelerySettings;
  /** Names of queues that the host gives. */
  readonly given: readonly string[];
  /** `null` where the host gives no management API. */
  readonly management: ManagedQueues | null;
}

/** The result of a passive declaration. */
interface Depth {
  readonly waiting: number;
  readonly consumers: number;
}

/** `absent`: the queue does not exist, or is exclusive to another connection. */
type NoDepth = 'absent' | 'refused';

interface Absence {
  /** From RabbitMQ 4.3 on, a queue may be looked at only by a user with any right to it. */
  readonly isRefused: boolean;
  readonly lookAt: number;
  readonly pause: number;
}

interface ReaderState extends AmqpQueueReaderOptions {
  readonly kinds: QueueKinds;
  readonly configured: readonly string[];
  readonly fallback: string;
  channel: AmqpChannel | null;
  readonly depths: Map<string, Depth>;
  /** Queues that cannot be read, by name: most do not exist. */
  readonly absent: Map<string, Absence>;
  /** Names that were known in the last reading. */
  known: ReadonlySet<string>;
  reading: QueueReading;
}

/** Sends nothing before the first reading. */
export function createAmqpQueueReader(options: AmqpQueueReaderOptions): QueueReader {
  const { settings, given } = options;
  const state: ReaderState = {
    ...options,
    kinds: queueKinds(settings),
    configured: configuredQueues(settings, given),
    fallback: filledString(settings.task_default_queue) ?? 'celery',
    channel: null,
    depths: new Map(),
    absent: new Map(),
    known: new Set(),
    reading: NOTHING_READ,
  };
  return { listsMessages: false, read: (known, _take, now) => read(state, known, now) };
}

async function read(state: ReaderState, known: readonly string[], now: number): Promise<QueueReading> {
  const { management } = state;
  const refreshing = management?.refresh();
  if (refreshing !== undefined && state.reading.revision === 0) {
    await waitFor(refreshing, { ms: FIRST_WAIT_MS });
  }
  const before = state.reading;
  try {
    const names = namesOf(state, known);
    await measure(state, names, now);
    const next = readingOf(state, names);
    state.reading = isSame(before, next) ? before : next;
  } catch (error) {
    state.reading = { ...before, ok: false, problem: describeAmqpError(error) };
  }
  return state.reading;
}

/** Sorted. */
function namesOf(state: ReaderState, known: readonly string[]): string[] {
  const { kinds, configured, fallback, absent, management } = state;
  // One that a worker has begun to consume exists now.
  for (const name of known) if (!state.known.has(name)) absent.delete(name);
  state.known = new Set(known);
  const managed = management?.queues() ?? new Map();
  const names = [...new Set([fallback, ...configured, ...known, ...managed.keys()])];
  return names
    .filter((name) => kinds.isTaskQueue(name, managed.get(name)))
    .slice(0, MAX_QUEUES)
    .sort();
}

async function measure(state: ReaderState, names: readonly string[], now: number): Promise<void> {
  const { depths, absent, management } = state;
  const wanted = new Set(names);
  for (const name of depths.keys()) if (!wanted.has(name)) depths.delete(name);
  for (const name of absent.keys()) if (!wanted.has(name)) absent.delete(name);
  const managed = management?.isWhole() === true ? management.queues() : null;
  let missed = 0;
  for (const name of names) {
    const absence = absent.get(name);
    const isNew = !depths.has(name);
    if (isNew && (now < (absence?.lookAt ?? now) || missed >= MOST_MISSED)) continue;
    // A queue that is not listed does not exist, unless it is younger than the list.
    const isListed = managed === null || managed.has(name) || state.known.has(name) || !isNew;
    const depth = isListed ? await depthOf(state, name) : 'absent';
    if (typeof depth !== 'string') {
      depths.set(name, depth);
      absent.delete(name);
      continue;
    }
    if (isListed) missed += 1;
    depths.delete(name);
    const pause = Math.min((absence?.pause ?? FIRST_PAUSE_MS / 2) * 2, LONGEST_PAUSE_MS);
    absent.set(name, { isRefused: depth === 'refused', lookAt: now + pause, pause });
  }
}

/** RabbitMQ has ended the channel if it does not tell. */
async function depthOf(state: ReaderState, name: string): Promise<Depth | NoDepth> {
  if (state.channel?.isOpen() !== true) state.channel = await state.connection.channel();
  try {
    const { messageCount, consumerCount } = await state.channel.request((raw) => raw.checkQueue(name));
    return { waiting: messageCount, consumers: consumerCount };
  } catch (error) {
    const { code } = describeAmqpError(error);
    if (code === 'NOPERM') return 'refused';
    if (code === 'NOTFOUND' || code === 'LOCKED') return 'absent';
    throw error;
  }
}

function readingOf(state: ReaderState, names: readonly string[]): QueueReading {
  const { management, reading } = state;
  return {
    queues: names.flatMap((name) => countsOf(state, name) ?? []),
    messages: [],
    isComplete: isEmpty(state),
    ok: true,
    problem: management?.problem() ?? null,
    revision: reading.revision + 1,
  };
}

/** @returns `null` for a queue that does not exist, as far as is known, unless the host names it */
function countsOf(state: ReaderState, name: string): QueueCounts | null {
  const { depths, absent, configured, known, management } = state;
  const depth = depths.get(name);
  const managed = management?.queues()?.get(name);
  const reserved = managed?.unacknowledged ?? null;
  if (depth !== undefined) return { name, ...depth, reserved };
  const absence = absent.get(name);
  const isNamed = configured.includes(name);
  if (absence?.isRefused === true && (isNamed || known.has(name) || managed !== undefined)) {
    return { name, waiting: managed?.ready ?? null, consumers: null, reserved };
  }
  return absence?.isRefused === false && isNamed ? { name, waiting: 0, consumers: 0, reserved: 0 } : null;
}

/** Whether no queue holds a message of a task, neither ready nor delayed nor unacknowledged. */
function isEmpty({ management, kinds, depths }: ReaderState): boolean {
  const managed = management?.queues() ?? null;
  if (managed === null || management?.isWhole() !== true) return false;
  for (const { waiting } of depths.values()) if (waiting !== 0) return false;
  for (const [name, queue] of managed) {
    const { ready, unacknowledged } = queue;
    if (kinds.mayHoldTasks(name, queue) && (ready !== 0 || unacknowledged !== 0)) return false;
  }
  return true;
}

function isSame(before: QueueReading, next: QueueReading): boolean {
  if (!before.ok || before.isComplete !== next.isComplete) return false;
  if (before.problem?.code !== next.problem?.code) return false;
  if (before.queues.length !== next.queues.length) return false;
  return next.queues.every(({ name, waiting, reserved, consumers }, index) => {
    const old = before.queues[index];
    const isOld = old?.name === name && old.waiting === waiting;
    return isOld && old.reserved === reserved && old.consumers === consumers;
  });
}
