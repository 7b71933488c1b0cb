/**
 * Walks over the queues as they are in Redis, a window at a time, for queues that are too long to copy.
 *
 * Workers take from the right, so the place of a message, counted from the right, only ever gets smaller;
 * clients push on the left, which changes no such place. A walk that goes on looks for the last message
 * it has seen: where it was, then further to the right. When it has gone, all that lay to the right of it
 * has gone as well, and what is at the right end now comes next. Only what kombu puts back on the right
 * is against this rule: then rows may be listed twice, and none is left out.
 */
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { decodeTaken, decodeWaiting, type FindQueue } from '../protocol/queue-message.ts';
import { type HeldMessage, holdMessage } from './held-message.ts';
import type { Place } from './place.ts';
import type { QueueKeys } from './queue-keys.ts';
import type { QueueList } from './queue-list.ts';
import type { QueuePoll } from './queue-poll.ts';
import { count, texts } from './replies.ts';
import { takenMessages, takenTags, takenTime } from './taken-commands.ts';
import { isTakenBefore, listsFrom, placeIn, type WalkedPart } from './walk.ts';
import type { Window } from './window.ts';

/** What a walk reads from. */
export interface LiveWalk {
  readonly reader: RedisReader;
  readonly keys: QueueKeys;
  readonly poll: QueuePoll;
  readonly findQueue: FindQueue;
  /** Of messages that workers have taken. */
  readonly takenWindow: Window;
}

/**
 * @param wanted how many messages the caller still needs; asked before each window
 * @throws RedisError when Redis is away
 */
export async function* walkLive(
  { reader, keys, poll, findQueue, takenWindow }: LiveWalk,
  from: Place,
  wanted: () => number,
  options: ReadOptions,
): AsyncGenerator<WalkedPart> {
  if (from.phase === 'taken' && poll.takenCount() > 0) yield* walkTaken(from);
  for (const list of listsFrom(poll.lists(), from)) {
    if (list.length() > 0) yield* walkList(list, placeIn(list, from));
  }

  async function* walkTaken(start: Place & { phase: 'taken' }): AsyncGenerator<WalkedPart> {
    let place = start;
    for (let offset = 0; ; ) {
      const size = takenWindow.size(wanted() + 1);
      const tags = await takenTags(reader, keys, place.score, offset, size, options);
      const fresh = tags.filter(([tag, score]) => !isTakenBefore(score, tag, place));
      const raws = await takenMessages(reader, keys, fresh, options);
      takenWindow.saw(raws);
      const messages = fresh.flatMap(([tag, score], index) => {
        const raw = raws[index];
        if (raw == null) return [];
        const message = holdMessage(raw, decodeTaken(raw, takenTime(score), findQueue));
        return { message: { ...message, tag, score }, place: { phase: 'taken' as const, score, tag } };
      });
      const last = fresh.at(-1);
      // A page of those of one moment, all of which were seen.
      offset = last === undefined ? offset + tags.length : 0;
      if (last !== undefined) place = { phase: 'taken', score: last[1], tag: last[0] };
      yield { messages, looked: tags.length, place };
      if (tags.length < size) return;
    }
  }

  async function* walkList(list: QueueList, start: Place & { phase: 'list' }): AsyncGenerator<WalkedPart> {
    let place = start;
    for (;;) {
      const isBefore = place.tag === '';
      const size = list.window.size(wanted());
      // With the last message seen in front, to know whether it is still there.
      const elements = await range(list, place.index, place.index + size - (isBefore ? 1 : 0));
      const at = isBefore ? -1 : elements.findLastIndex(({ tag }) => tag === place.tag);
      if (!isBefore && at < 0) {
        let hasFound = false;
        for await (const found of search(list, place)) {
          place = found.place as typeof place;
          hasFound = found.looked === 0;
          if (!hasFound) yield found;
        }
        // Now the window begins with it, or the message has gone.
        if (!hasFound) place = { ...place, index: 0, tag: '' };
        continue;
      }
      const messages = elements.slice(at + 1).map((message, offset) => {
        const index = place.index + at + 1 + offset;
        return { message, place: { ...place, index, tag: message.tag } };
      });
      place = messages.at(-1)?.place ?? place;
      yield { messages, looked: elements.length, place };
      if (elements.length < size + (isBefore ? 0 : 1)) return;
    }
  }

  /** Looks for the message to the right of where it was. The part in which nothing was looked at is its place. */
  async function* search(list: QueueList, start: Place & { phase: 'list' }): AsyncGenerator<WalkedPart> {
    const length = count(await reader.command(['LLEN', list.key], options));
    for (let end = Math.min(start.index, length); end > 0; ) {
      const index = Math.max(0, end - list.window.size());
      const elements = await range(list, index, end - 1);
      const at = elements.findLastIndex(({ tag }) => tag === start.tag);
      if (at >= 0) {
        yield { messages: [], looked: 0, place: { ...start, index: index + at } };
        return;
      }
      // Whoever goes on from here looks further to the right.
      yield { messages: [], looked: end - index, place: { ...start, index } };
      end = index;
    }
  }

  /** Messages between two places counted from the right, next to run first. */
  async function range(
    { key, queue, window }: QueueList,
    first: number,
    last: number,
  ): Promise<HeldMessage[]> {
    const range = ['LRANGE', key, String(-last - 1), String(-first - 1)];
    const raws = texts(await reader.command(range, options));
    window.saw(raws);
    return raws.reverse().map((raw) => holdMessage(raw, decodeWaiting(raw, queue)));
  }
}
