/** Finds the queues of a prefix by their `meta` keys, which every queue of BullMQ writes. */
import { withDeadline } from '../../../redis/deadline.ts';
import { describeError, RedisError } from '../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { asText, asTexts } from '../../../redis/replies.ts';

/** Names of the queues there are, kept up to date while somebody asks. */
export interface QueueDiscovery {
  /**
   * Sorted. The first time it waits for what is found within two seconds; later ones are looked for behind
   * the back of who asks.
   *
   * @throws RedisError as long as no search has come to an end
   */
  names(options?: ReadOptions): Promise<readonly string[]>;
}

/** Keys per step, which keeps Redis busy for less than a millisecond. */
const COUNT = '1000';
/** All in milliseconds. */
const SEARCH_INTERVAL = 15_000;
const PAUSE = 20;
const FIRST_WAIT = 2_000;
const LONGEST_NAME = 256;
const MOST_QUEUES = 1_000;

export function createQueueDiscovery(prefix: string, reader: RedisReader): QueueDiscovery {
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}:*:meta`;
  /** Of the last search; while the first one goes on, what it has found. */
  let names = new Set<string>();
  let searchedAt: number | null = null;
  let running: Promise<void> | null = null;

  async function search(): Promise<void> {
    const isFirst = searchedAt === null;
    const found = isFirst ? names : new Set<string>();
    /** Where each master of a cluster stands; one that is done has none. */
    const cursors = new Map<string, string>();
    const read = (commandFor: (master: string) => readonly ['SCAN', string, ...string[]] | null) =>
      reader.onEachMaster(commandFor).then((replies) => {
        for (const { master, reply } of replies) {
          const [cursor, keys]: readonly unknown[] = Array.isArray(reply) ? reply : [];
          addNames(asTexts(keys), found);
          const next = asText(cursor) ?? '0';
          if (next === '0') cursors.delete(master);
          else cursors.set(master, next);
        }
      });
    const step = (cursor: string) => ['SCAN', cursor, 'MATCH', pattern, 'COUNT', COUNT] as const;
    await read(() => step('0'));
    while (cursors.size > 0) {
      if (!isFirst) await new Promise((resolve) => setTimeout(resolve, PAUSE).unref());
      await read((master) => {
        const cursor = cursors.get(master);
        return cursor === undefined ? null : step(cursor);
      });
    }
    names = found;
    searchedAt = performance.now();
  }

  function addNames(keys: readonly string[], found: Set<string>): void {
    for (const key of keys) {
      const name = key.slice(prefix.length + 1, -':meta'.length);
      // A job may be called `meta`, and other keys of a queue may end so.
      if (name === '' || name.includes(':') || name.length > LONGEST_NAME) continue;
      if (found.size < MOST_QUEUES) found.add(name);
    }
  }

  return {
    async names({ signal, timeoutMs = FIRST_WAIT } = {}) {
      if (searchedAt === null || performance.now() - searchedAt > SEARCH_INTERVAL) {
        running ??= search().finally(() => {
          running = null;
        });
        // Of a later search nobody hears; the next one tries again.
        running.catch(() => {});
        if (searchedAt === null) await firstNames(running, signal, Math.min(timeoutMs, FIRST_WAIT));
      }
      return [...names].sort();
    },
  };

  /** A search that takes longer than this goes on; what it has found so far is an answer, too. */
  async function firstNames(
    first: Promise<void>,
    signal: AbortSignal | undefined,
    ms: number,
  ): Promise<void> {
    try {
      await withDeadline(first, signal, ms);
    } catch (error) {
      const problem = describeError(error);
      if (problem.code !== 'TimeoutError' || names.size === 0) throw new RedisError(problem);
    }
  }
}
