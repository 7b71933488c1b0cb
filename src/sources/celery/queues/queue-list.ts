/** One list of messages: a queue's, of one priority. */
import type { RedisReader } from '../../../redis/reader.ts';
import { createListMirror, type ListMirror } from './list-mirror.ts';
import type { MessageIntake } from './message-intake.ts';
import type { QueueKeys } from './queue-keys.ts';
import { count, REFUSED, texts } from './replies.ts';
import { createWindow, type Window } from './window.ts';

/** Characters a second that looking at a list may cost: large messages are looked at less often. */
const RATE = 2 * 1024 * 1024;
/** Tags remembered of a list that is not copied. */
const MAX_NEWEST = 500;

/** Which list. */
export interface ListPlace {
  readonly queue: string;
  /** Which of the priorities, counted in the order in which they run. */
  readonly step: number;
}

/** One list and what is known of it. */
export interface QueueList extends ListPlace {
  readonly key: string;
  readonly window: Window;
  /** As of the last look. */
  length(): number;
  /** Whether the Redis user may not see it. */
  isRefused(): boolean;
  mirror(): ListMirror;
  /** What to ask to see its length and its ends. */
  questions(now: number): (readonly string[])[];
  /** Takes the replies. @returns whether the length is another */
  look(replies: readonly unknown[], now: number): boolean;
  /** Brings the copy up to date. @returns whether it changed */
  sync(allowance: Parameters<ListMirror['sync']>[1], now: number): Promise<boolean>;
  /**
   * Reads what is new on the left, for the sake of those whom it is told, and keeps nothing.
   *
   * @param most messages
   * @returns how many were read
   */
  peek(most: number): Promise<number>;
  /** Drops the copy. */
  release(): void;
}

/** @param intake is told each message */
export function createQueueList(
  reader: RedisReader,
  keys: QueueKeys,
  { queue, step }: ListPlace,
  intake: MessageIntake,
): QueueList {
  const key = keys.list(queue, keys.steps[step] ?? 0);
  const window = createWindow();
  const take = (raw: string) => intake.waiting(raw, queue);
  const create = () => createListMirror(reader, key, window, take);
  let mirror = create();
  let length = 0;
  let isRefused = false;
  let ends: { left: string[]; right: string[] } | null = null;
  let lookAt = Number.NEGATIVE_INFINITY;
  let newest = new Set<string>();

  return {
    queue,
    step,
    key,
    window,
    length: () => length,
    isRefused: () => isRefused,
    mirror: () => mirror,
    questions(now) {
      const size = ['LLEN', key];
      if (length === 0 || now < lookAt) return [size];
      return [size, ['LRANGE', key, '0', '0'], ['LRANGE', key, '-1', '-1']];
    },
    look([size, left, right], now) {
      const before = length;
      length = count(size);
      isRefused = size === REFUSED;
      ends = left === undefined ? null : { left: texts(left), right: texts(right) };
      const cost = [...(ends?.left ?? []), ...(ends?.right ?? [])].reduce((sum, raw) => sum + raw.length, 0);
      if (cost > 0) lookAt = now + (cost / RATE) * 1000;
      return length !== before;
    },
    async sync(allowance, now) {
      // Not looked at this time: what was there before goes on being shown.
      if (ends === null && length > 0 && mirror.entries().length > 0) return false;
      return mirror.sync({ length, left: [], right: [], ...ends }, allowance, now);
    },
    async peek(most) {
      if (length === 0 || most <= 0) return 0;
      const tags: string[] = [];
      let elements = ends?.left ?? [];
      let isKnown = false;
      let read = 0;
      for (;;) {
        for (const raw of elements) {
          read += raw.length;
          const { tag } = take(raw);
          isKnown = newest.has(tag);
          if (isKnown) break;
          tags.push(tag);
        }
        if (isKnown || tags.length >= most || read > RATE) break;
        const size = window.size(most - tags.length);
        const range = ['LRANGE', key, String(tags.length), String(tags.length + size - 1)];
        elements = texts(await reader.command(range));
        window.saw(elements);
        if (elements.length === 0) break;
      }
      newest = new Set([...tags, ...newest].slice(0, MAX_NEWEST));
      return tags.length;
    },
    release() {
      mirror = create();
    },
  };
}
