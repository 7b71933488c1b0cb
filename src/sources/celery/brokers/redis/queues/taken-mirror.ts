/**
 * A copy of the messages that workers have taken and not acknowledged: those that wait for their eta, are
 * reserved or, with `acks_late`, run. kombu keeps a sorted set of their tags by time, and a hash of the
 * messages by tag (kombu/transport/redis.py, `QoS`).
 */
import type { RedisReader } from '../../../../../redis/reader.ts';
import { asFields } from '../../../../../redis/replies.ts';
import type { TakeMessage, WaitingMessage } from '../../../broker.ts';
import { decodeTaken, type FindQueue } from '../../../protocol/queue-message.ts';
import type { QueueKeys } from './queue-names.ts';
import { createReplySize, type ReadBudget } from './read-budget.ts';

/** Tags that are read at once. */
const PAGE = 500;
/** After this time all tags are read even if neither their number nor the newest has changed, in milliseconds. */
const REREAD_MS = 5000;

/** The messages that workers have taken and not acknowledged. */
export type TakenMirror = ReturnType<typeof newTakenMirror>;

/** Parameters of reading. */
interface TakenReading {
  readonly reader: RedisReader;
  readonly keys: QueueKeys;
  readonly findQueue: FindQueue;
  readonly take: TakeMessage;
  readonly budget: ReadBudget;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export function newTakenMirror() {
  return {
    replySize: createReplySize(),
    /** Number of messages at the last look. */
    count: 0,
    /** Whether the Redis user may not read them. */
    isRefused: false,
    /** The newest tag and its score. */
    newest: '',
    /** By tag, in the order in which they were taken. */
    messages: new Map<string, WaitingMessage>(),
    /** `count` and `newest` when `messages` was read. */
    copied: '',
    readAt: Number.NEGATIVE_INFINITY,
  };
}

/** Whether the copy has every message. */
export function isTakenWhole({ isRefused, messages, count }: TakenMirror): boolean {
  return !isRefused && messages.size >= count;
}

/**
 * Updates the copy as far as the budget allows.
 *
 * @param limit most messages to copy
 * @returns whether something changed
 * @throws RedisError when Redis is unreachable; the copy is then unchanged
 */
export async function syncTaken(mirror: TakenMirror, reading: TakenReading, limit: number): Promise<boolean> {
  const { count, messages: before } = mirror;
  const state = `${count} ${mirror.newest}`;
  const isComplete = before.size >= Math.min(count, limit);
  if (state === mirror.copied && isComplete && (reading.now - mirror.readAt < REREAD_MS || count === 0)) {
    return false;
  }
  const tags = count === 0 ? [] : await readTags(reading, limit);
  const fresh = await readMessages(
    mirror,
    reading,
    tags.filter(([tag]) => !before.has(tag)),
  );
  const next = tags.flatMap(([tag]): [string, WaitingMessage][] => {
    const message = before.get(tag) ?? fresh.get(tag);
    return message === undefined ? [] : [[tag, message]];
  });
  mirror.messages = new Map(next);
  mirror.copied = state;
  mirror.readAt = reading.now;
  return fresh.size > 0 || next.length !== before.size;
}

type TakenTag = readonly [tag: string, score: string];

/** Tags in the order in which they were taken. */
async function readTags({ reader, keys }: TakenReading, limit: number): Promise<TakenTag[]> {
  const found = new Map<string, string>();
  for (let at = 0; at < limit; at += PAGE) {
    const range = ['ZRANGEBYSCORE', keys.takenIndex, '-inf', '+inf', 'WITHSCORES', 'LIMIT'];
    const reply = await reader.command([...range, String(at), String(PAGE)]);
    const flat = Array.isArray(reply) ? reply : [];
    for (let index = 0; index + 1 < flat.length; index += 2) {
      found.set(String(flat[index]), String(flat[index + 1]));
    }
    if (flat.length < 2 * PAGE) break;
  }
  return [...found];
}

async function readMessages(
  { replySize }: TakenMirror,
  { reader, keys, findQueue, take, budget }: TakenReading,
  tags: readonly TakenTag[],
): Promise<Map<string, WaitingMessage>> {
  const messages = new Map<string, WaitingMessage>();
  for (let at = 0; at < tags.length && budget.hasRoom(); ) {
    const page = tags.slice(at, at + replySize.next());
    const reply = await reader.command(['HMGET', keys.taken, ...page.map(([tag]) => tag)]);
    const raws = asFields(reply);
    replySize.saw(raws);
    for (const [index, [tag, score]] of page.entries()) {
      const raw = raws[index] ?? null;
      const position = { tag, part: '', takenAt: Number(score) };
      // A tag without a message is a leftover, or the message is being acknowledged at this moment.
      const message = raw === null ? absent(position) : take(decodeTaken(raw, findQueue), position);
      budget.spend(raw?.length ?? 0, message.bytes);
      messages.set(tag, message);
    }
    at += page.length;
  }
  return messages;
}

function absent(position: { tag: string; part: string; takenAt: number }): WaitingMessage {
  return { ...position, facts: null, seenAt: 0, relations: [], bytes: 0 };
}
