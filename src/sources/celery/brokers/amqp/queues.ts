/**
 * Reads how many messages are ready in each queue, and how many consume it, by passive declarations. Messages are never
 * taken out to look at them: that would reorder them and mark them as redelivered.
 */
import type { AmqpChannel } from '../../../../amqp/channel.ts';
import type { AmqpConnection } from '../../../../amqp/connection.ts';
import { describeAmqpError } from '../../../../amqp/problems.ts';
import { filledString } from '../../../../values.ts';
import { NOTHING_READ, type QueueCounts, type QueueReader, type QueueReading } from '../../broker.ts';
import { isDelayedName } from '../../protocol/messages.ts';
import { type CelerySettings, configuredQueues } from '../../settings.ts';
import { OWN_PREFIX } from './mailbox.ts';

/** Most queues that are read. */
const MAX_QUEUES = 1000;
/**
 * Milliseconds until a queue that does not exist is searched again, doubled each time: it costs a channel and a line in
 * RabbitMQ's log. And the maximum number of such queues in one reading.
 */
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 600_000;
const MOST_MISSED = 10;

/** The result of a passive declaration. */
interface Depth {
  readonly waiting: number;
  readonly consumers: number;
}

interface ReaderState {
  readonly connection: AmqpConnection;
  /** Names that the host gives, and those in the settings. */
  readonly configured: readonly string[];
  readonly fallback: string;
  /** How the names of queues of events begin. */
  readonly ofEvents: string;
  channel: AmqpChannel | null;
  readonly depths: Map<string, Depth>;
  /** Queues that cannot be read, by name: most do not exist. */
  readonly absent: Map<
    string,
    {
      /** From RabbitMQ 4.3 on, a queue may be looked at only by a user with any right to it. */
      readonly isRefused: boolean;
      readonly lookAt: number;
      readonly pause: number;
    }
  >;
  /** Names that were known in the last reading. */
  known: ReadonlySet<string>;
  reading: QueueReading;
}

/**
 * Sends nothing before the first reading.
 *
 * @param connection not one that messages are published on: RabbitMQ stops reading from those while it is short of
 *   memory
 * @param given names of queues that the host gives
 */
export function createAmqpQueueReader(
  connection: AmqpConnection,
  settings: CelerySettings,
  given: readonly string[],
): QueueReader {
  const state: ReaderState = {
    connection,
    configured: [...given, ...configuredQueues(settings)],
    fallback: filledString(settings.task_default_queue) ?? 'celery',
    ofEvents: `${filledString(settings.event_queue_prefix) ?? 'celeryev'}.`,
    channel: null,
    depths: new Map(),
    absent: new Map(),
    known: new Set(),
    reading: NOTHING_READ,
  };
  return { listsMessages: false, read: (known, _take, now) => read(state, known, now) };
}

async function read(state: ReaderState, known: readonly string[], now: number): Promise<QueueReading> {
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
  const { configured, fallback, absent } = state;
  // One that a worker has begun to consume exists now.
  for (const name of known) if (!state.known.has(name)) absent.delete(name);
  state.known = new Set(known);
  return [...new Set([fallback, ...configured, ...known])]
    .filter((name) => holdsTasks(state, name))
    .slice(0, MAX_QUEUES)
    .sort();
}

/** Whether workers take tasks from a queue: it is none of events, of remote control, of ours or of delayed tasks. */
function holdsTasks({ ofEvents }: ReaderState, name: string): boolean {
  if (name === '' || name.endsWith('.pidbox') || name.startsWith(ofEvents)) return false;
  return !name.startsWith(OWN_PREFIX) && !isDelayedName(name);
}

async function measure(state: ReaderState, names: readonly string[], now: number): Promise<void> {
  const { depths, absent } = state;
  const wanted = new Set(names);
  for (const name of depths.keys()) if (!wanted.has(name)) depths.delete(name);
  for (const name of absent.keys()) if (!wanted.has(name)) absent.delete(name);
  let missed = 0;
  for (const name of names) {
    const absence = absent.get(name);
    if (!depths.has(name) && (now < (absence?.lookAt ?? now) || missed >= MOST_MISSED)) continue;
    const depth = await depthOf(state, name);
    if (typeof depth !== 'string') {
      depths.set(name, depth);
      absent.delete(name);
      continue;
    }
    missed += 1;
    depths.delete(name);
    const pause = Math.min((absence?.pause ?? FIRST_PAUSE_MS / 2) * 2, LONGEST_PAUSE_MS);
    absent.set(name, { isRefused: depth === 'refused', lookAt: now + pause, pause });
  }
}

/** RabbitMQ has ended the channel if it does not tell. */
async function depthOf(state: ReaderState, name: string): Promise<Depth | 'absent' | 'refused'> {
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
  return {
    queues: names.flatMap((name) => countsOf(state, name) ?? []),
    messages: [],
    // A message may be delayed or unacknowledged, which no declaration shows.
    isComplete: false,
    ok: true,
    problem: null,
    revision: state.reading.revision + 1,
  };
}

/** @returns `null` for a queue that does not exist, as far as is known, unless the host names it */
function countsOf({ depths, absent, configured, known }: ReaderState, name: string): QueueCounts | null {
  // RabbitMQ tells over AMQP how many are ready, not how many are unacknowledged.
  const reserved = null;
  const depth = depths.get(name);
  if (depth !== undefined) return { name, ...depth, reserved };
  const absence = absent.get(name);
  if (absence === undefined) return null;
  const isNamed = configured.includes(name);
  if (absence.isRefused) {
    return isNamed || known.has(name) ? { name, waiting: null, consumers: null, reserved } : null;
  }
  return isNamed ? { name, waiting: 0, consumers: 0, reserved } : null;
}

function isSame(before: QueueReading, next: QueueReading): boolean {
  if (!before.ok || before.queues.length !== next.queues.length) return false;
  return next.queues.every(({ name, waiting, consumers }, index) => {
    const old = before.queues[index];
    return old?.name === name && old.waiting === waiting && old.consumers === consumers;
  });
}
