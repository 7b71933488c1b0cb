/** Finds the queues of a prefix by the `meta` key that BullMQ writes for each queue. */

import { describeError, RedisError } from '../../../redis/problems.ts';
import { type ReadOptions, type RedisReader, withDeadline } from '../../../redis/reader.ts';
import { asText, asTexts } from '../../../redis/replies.ts';
import { shareCalls } from '../../../single-flight.ts';
import { pause } from '../../../waiting.ts';

/** The names of all queues, kept up to date while there are requests. */
export interface QueueDiscovery {
  /**
   * The names, sorted. The first call waits up to two seconds for a search. Later calls return the names of the last
   * search, and start another search if that one is old.
   *
   * @throws RedisError until a first search has succeeded
   */
  names(options?: ReadOptions): Promise<readonly string[]>;
}

/** Keys per step: such a step takes Redis less than a millisecond. */
const COUNT = '1000';
/** How old the names may be, in milliseconds. */
const SEARCH_INTERVAL_MS = 15_000;
/** Pause between two steps of a search, except for the first search. */
const PAUSE_MS = 20;
const FIRST_WAIT_MS = 2_000;
/** In characters. */
const LONGEST_NAME = 256;
const MOST_QUEUES = 1_000;

interface State {
  readonly prefix: string;
  readonly reader: RedisReader;
  /** Found by the last search; during the first search, found so far. */
  names: Set<string>;
  /** When the last search ended, in monotonic milliseconds. */
  searchedAt: number | null;
}

export function createQueueDiscovery(prefix: string, reader: RedisReader): QueueDiscovery {
  const state: State = { prefix, reader, names: new Set(), searchedAt: null };
  const search = shareCalls(() => searchNames(state));
  return {
    async names({ signal, timeoutMs = FIRST_WAIT_MS } = {}) {
      if (state.searchedAt === null || performance.now() - state.searchedAt > SEARCH_INTERVAL_MS) {
        const searching = search();
        // No caller waits for a later search. If it fails, the next call searches again.
        searching.catch(() => {});
        if (state.searchedAt === null) {
          await firstNames(state, searching, signal, Math.min(timeoutMs, FIRST_WAIT_MS));
        }
      }
      return [...state.names].sort();
    },
  };
}

async function searchNames(state: State): Promise<void> {
  const { prefix, reader } = state;
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}:*:meta`;
  const isFirst = state.searchedAt === null;
  const found = isFirst ? state.names : new Set<string>();
  /** The next SCAN cursor of each master of a cluster, until it has returned all keys. */
  let cursors = new Map<string, string>();
  do {
    const isBegun = cursors.size > 0;
    if (isBegun && !isFirst) await pause(PAUSE_MS);
    const replies = await reader.onEachMaster((master) => {
      const cursor = isBegun ? cursors.get(master) : '0';
      return cursor === undefined ? null : ['SCAN', cursor, 'MATCH', pattern, 'COUNT', COUNT];
    });
    cursors = new Map();
    for (const { master, reply } of replies) {
      const [cursor, keys]: readonly unknown[] = Array.isArray(reply) ? reply : [];
      addNames(asTexts(keys), prefix, found);
      const next = asText(cursor) ?? '0';
      if (next !== '0') cursors.set(master, next);
    }
  } while (cursors.size > 0);
  state.names = found;
  state.searchedAt = performance.now();
}

function addNames(keys: readonly string[], prefix: string, found: Set<string>): void {
  for (const key of keys) {
    const name = key.slice(prefix.length + 1, -':meta'.length);
    // The key of a job with the id `meta` ends like this too.
    if (name === '' || name.includes(':') || name.length > LONGEST_NAME) continue;
    if (found.size < MOST_QUEUES) found.add(name);
  }
}

/** Waits for the first search. If it takes too long, it continues, and the names found so far are used. */
async function firstNames(
  state: State,
  searching: Promise<void>,
  signal: AbortSignal | undefined,
  ms: number,
): Promise<void> {
  try {
    await withDeadline(searching, signal, ms);
  } catch (error) {
    const problem = describeError(error);
    if (problem.code !== 'TimeoutError' || state.names.size === 0) throw new RedisError(problem);
  }
}
