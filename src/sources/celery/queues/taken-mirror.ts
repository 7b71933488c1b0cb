/**
 * A copy of the messages that workers have taken and not acknowledged: those they hold for a time to
 * come, have in reserve, or, with `acks_late`, run (kombu/transport/redis.py, `QoS`).
 */
import type { RedisReader } from '../../../redis/reader.ts';
import type { HeldMessage } from './held-message.ts';
import type { Allowance } from './list-mirror.ts';
import type { QueueKeys } from './queue-keys.ts';
import { type TakenTag, takenMessages, takenTags } from './taken-commands.ts';
import type { Window } from './window.ts';

/** Tags that are read at once. */
const PAGE = 500;
/** After this time all tags are read even when nothing tells of a change, in milliseconds. */
const REREAD = 5000;

/** What the sorted set is at one moment. */
export interface TakenEnds {
  readonly length: number;
  /** The newest member and its score. */
  readonly newest: readonly string[];
}

/** A copy of what workers hold. */
export interface TakenMirror {
  /** The one taken first comes first. */
  entries(): readonly HeldMessage[];
  /**
   * Brings it up to date.
   *
   * @returns whether something changed
   * @throws TooMuch, RedisError; what it holds stays then as it was
   */
  sync(ends: TakenEnds, allowance: Allowance, now: number): Promise<boolean>;
}

/** @param take decodes an element */
export function createTakenMirror(
  reader: RedisReader,
  keys: QueueKeys,
  window: Window,
  take: (raw: string | null, tag: string, score: string) => HeldMessage,
): TakenMirror {
  let entries: readonly HeldMessage[] = [];
  let known = new Map<string, HeldMessage>();
  let last = '';
  let readAt = Number.NEGATIVE_INFINITY;

  async function readTags(allowance: Allowance): Promise<TakenTag[]> {
    const found = new Map<string, string>();
    for (let from: readonly [string, number] | null = ['-inf', 0]; from !== null; ) {
      const page: TakenTag[] = await takenTags(reader, keys, from[0], from[1], PAGE);
      for (const [tag, score] of page) found.set(tag, score);
      allowance.spend(
        [],
        page.map(([tag]) => tag),
      );
      const score: string = page.at(-1)?.[1] ?? '';
      // The next page begins behind those of the last moment that are known already.
      const ties: number = page.filter((item) => item[1] === score).length;
      from = page.length < PAGE ? null : [score, score === from[0] ? from[1] + ties : ties];
    }
    return [...found];
  }

  return {
    entries: () => entries,
    async sync(ends, allowance, now) {
      const state = `${ends.length} ${ends.newest.join(' ')}`;
      if (state === last && (now - readAt < REREAD || ends.length === 0)) return false;
      const tags = ends.length === 0 ? [] : await readTags(allowance);
      const fresh = tags.filter(([tag]) => !known.has(tag));
      const next = new Map<string, HeldMessage>();
      for (let at = 0; at < fresh.length; ) {
        const page = fresh.slice(at, at + window.size());
        const raws = await takenMessages(reader, keys, page);
        window.saw(raws);
        const messages = page.map(([tag, score], index) => take(raws[index] ?? null, tag, score));
        allowance.spend(
          messages,
          raws.map((raw) => raw ?? ''),
        );
        for (const message of messages) next.set(message.tag, message);
        at += page.length;
      }
      const isChanged = fresh.length > 0 || tags.length !== known.size;
      known = new Map(tags.map(([tag]) => [tag, known.get(tag) ?? (next.get(tag) as HeldMessage)]));
      entries = [...known.values()];
      last = state;
      readAt = now;
      return isChanged;
    },
  };
}
