/** Which tasks the store knows. */
import { createLruCache } from '../../../lru-cache.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import type { KnownIds, ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';

const MOST_REMEMBERED = 10_000;
/** How long an answer of the store is valid, in milliseconds. */
const HOLDS_MS = 30_000;
/** Tasks of one read. */
const BATCH = 1_000;
/** Most tasks that are looked up in the store for one answer. */
const MOST_READ = 10_000;

/** Collectors ask for the same ids again and again, so what the store has answered is remembered for a while. */
export function createKnownIds(): KnownIds {
  const answers = createLruCache<{ readonly isKnown: boolean; readonly at: number }>({
    entries: MOST_REMEMBERED,
  });
  return {
    get(id) {
      const answer = answers.get(id);
      return answer === undefined || performance.now() - answer.at > HOLDS_MS ? null : answer.isKnown;
    },
    set: (id, isKnown) => answers.set(id, { isKnown, at: performance.now() }),
  };
}

/**
 * Which of these tasks are known. Asks the store only for what memory does not know. While the store is unreachable
 * these count as unknown: the findings of collectors about them are then shown.
 */
export function listKnown(
  reader: ReaderContext,
  ids: Iterable<string>,
  context: ReadContext,
): Awaitable<ReadonlySet<string>> {
  const { memory, droppedThrough, known } = reader;
  const found = new Set<string>();
  const open: string[] = [];
  const isAll = droppedThrough() === Number.NEGATIVE_INFINITY;
  for (const id of ids) {
    const isKnown = memory.has(id) || (isAll ? false : known.get(id));
    if (isKnown === true) found.add(id);
    else if (isKnown === null && open.length < MOST_READ) open.push(id);
  }
  return open.length === 0 ? found : readKnown(reader, open, found, context);
}

async function readKnown(
  { reads, known }: ReaderContext,
  ids: readonly string[],
  found: Set<string>,
  context: ReadContext,
): Promise<ReadonlySet<string>> {
  try {
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch = ids.slice(at, at + BATCH);
      const stored = await reads.read((session) => session.tasks.known(batch), context);
      for (const id of batch) {
        known.set(id, stored.has(id));
        if (stored.has(id)) found.add(id);
      }
    }
  } catch (error) {
    if (!isStoreAway(error)) throw error;
  }
  return found;
}
