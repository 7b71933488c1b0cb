/**
 * A copy of one list, kept up by what changes at its ends: clients push on the left, workers take from
 * the right, and kombu puts back on the right what a worker gave up. Nothing else is done to a list
 * while it exists, so between two messages that are still there lies what lay there before.
 */
import type { RedisReader } from '../../../redis/reader.ts';
import type { HeldMessage } from './held-message.ts';
import { texts } from './replies.ts';
import type { Window } from './window.ts';

/** Pause between two readings of a whole list, in milliseconds. */
const REREAD = 3000;

/** What the ends of a list are at one moment. */
export interface ListEnds {
  readonly length: number;
  /** The first element from the left, and the first from the right; none where they were not asked for. */
  readonly left: readonly string[];
  readonly right: readonly string[];
}

/** How much may be read and held; reading more throws. */
export interface Allowance {
  /** @throws TooMuch when that is more than is allowed */
  spend(messages: readonly HeldMessage[], elements: readonly string[]): void;
}

/** The queues hold more than is copied. */
export class TooMuch extends Error {}

/** A copy of one list. */
export interface ListMirror {
  /** Next to run last, as in Redis. */
  entries(): readonly HeldMessage[];
  /**
   * Brings it up to date.
   *
   * @returns whether something changed
   * @throws TooMuch, RedisError; what it holds stays then as it was
   */
  sync(ends: ListEnds, allowance: Allowance, now: number): Promise<boolean>;
}

/** @param take decodes an element */
export function createListMirror(
  reader: RedisReader,
  key: string,
  window: Window,
  take: (raw: string) => HeldMessage,
): ListMirror {
  let entries: readonly HeldMessage[] = [];
  let mismatches = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  /** Messages that are there twice, so that the copy is shorter. */
  let surplus: number | null = 0;

  async function range(start: number, stop: number): Promise<string[]> {
    const found = texts(await reader.command(['LRANGE', key, String(start), String(stop)]));
    window.saw(found);
    return found;
  }

  /**
   * What is new at one end, from the end inwards, up to the first message that is known.
   *
   * @returns where that one is, or -1 when there is none
   */
  async function readEnd(
    side: 'left' | 'right',
    first: readonly string[],
    known: ReadonlyMap<string, number>,
    allowance: Allowance,
  ): Promise<{ fresh: HeldMessage[]; at: number; isOne: boolean }> {
    const fresh = new Map<string, HeldMessage>();
    let elements = first;
    for (let read = 0; elements.length > 0; ) {
      const taken = elements.map(take);
      const stop = taken.findIndex(({ tag }) => known.has(tag));
      // While several windows are read, pushes may bring an element into two of them.
      for (const message of stop < 0 ? taken : taken.slice(0, stop)) fresh.set(message.tag, message);
      allowance.spend(taken, elements);
      const found = taken[stop];
      if (found !== undefined) {
        return { fresh: [...fresh.values()], at: known.get(found.tag) ?? -1, isOne: read === 0 };
      }
      read += elements.length;
      const size = window.size();
      elements =
        side === 'left'
          ? await range(read, read + size - 1)
          : (await range(-read - size, -read - 1)).reverse();
    }
    return { fresh: [...fresh.values()], at: -1, isOne: false };
  }

  async function readAll(allowance: Allowance, now: number): Promise<void> {
    readAt = now;
    const first = await range(0, window.size() - 1);
    const { fresh } = await readEnd('left', first, new Map(), allowance);
    entries = fresh;
    surplus = null;
    mismatches = 0;
  }

  function isSame({ length, left, right }: ListEnds): boolean {
    if (entries.length + (surplus ?? 0) !== length) return false;
    const [first] = left;
    const [last] = right;
    if (first === undefined || last === undefined) return length === 0;
    return take(first).tag === entries[0]?.tag && take(last).tag === entries.at(-1)?.tag;
  }

  return {
    entries: () => entries,
    async sync(ends, allowance, now) {
      if (isSame(ends)) return false;
      if (ends.length === 0) {
        entries = [];
        surplus = 0;
        return true;
      }
      const known = new Map(entries.map(({ tag }, index) => [tag, index]));
      const first = ends.left.length > 0 ? ends.left : await range(0, window.size() - 1);
      const left = await readEnd('left', first, known, allowance);
      if (left.at < 0) {
        entries = left.fresh;
        surplus = null;
        return true;
      }
      const right = await readEnd('right', ends.right, known, allowance);
      const isWhole = right.at >= left.at;
      const next = isWhole
        ? [...left.fresh, ...entries.slice(left.at, right.at + 1), ...right.fresh.reverse()]
        : entries;
      // Both ends and the length are of one moment, unless more windows had to be read.
      if (isWhole && surplus === null && left.isOne && right.isOne) surplus = ends.length - next.length;
      const fits = isWhole && (!left.isOne || !right.isOne || next.length + (surplus ?? 0) === ends.length);
      mismatches = fits ? 0 : mismatches + 1;
      if (isWhole) entries = next;
      // Once may be a push or a pop in between.
      if (mismatches > 1 && now - readAt >= REREAD) await readAll(allowance, now);
      return true;
    },
  };
}
