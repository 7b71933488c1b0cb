/** Looks up the results of tasks by their ids: in batches, each id once at a time. */
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import { createSingleFlight, type SingleFlight } from '../../../single-flight.ts';
import { waitFor } from '../../../waiting.ts';
import { isId } from '../protocol/ids.ts';
import { type Aside, type ResultIntake, takeResults } from './result-intake.ts';

/** Ids that wait or are looked up at a time; more are not looked up. */
const MAX_WAITING = 5_000;
/** Ids in one look-up. */
const BATCH = 500;
/** How long an id without a result is not looked up again, and the maximum number of such ids. */
const MISSING_FOR_MS = 1_000;
const MAX_MISSING = 5_000;

/**
 * Looks up the stored results of tasks for the history. Never rejects; finds nothing while the backend is
 * unreachable.
 *
 * @param signal ends the wait
 * @returns how many of the ids have a result
 */
export type ResultLookup = (ids: Iterable<string>, signal: AbortSignal) => Promise<number>;

/** An id that waits to be looked up. */
interface Search {
  readonly id: string;
  settle(found: boolean): void;
}

interface State {
  readonly intake: ResultIntake;
  readonly aside: Aside;
  readonly signal: AbortSignal;
  /** Look-ups of ids, shared by concurrent callers. */
  readonly searches: SingleFlight<boolean>;
  /** When ids were found to have no result, by the monotonic clock. */
  readonly missing: LruCache<number>;
  readonly queue: Search[];
  isRunning: boolean;
}

/**
 * @param aside receives results that the history would not keep
 * @param stopping ends it
 */
export function createResultLookup(intake: ResultIntake, aside: Aside, stopping: AbortSignal): ResultLookup {
  const searches = createSingleFlight<boolean>();
  const missing = createLruCache<number>({ entries: MAX_MISSING });
  const state: State = { intake, aside, signal: stopping, searches, missing, queue: [], isRunning: false };
  return async (ids, signal) => {
    if (signal.aborted) return 0;
    let count = 0;
    const searches = [...new Set(ids)].flatMap((id) => find(state, id) ?? []);
    const counted = searches.map(async (search) => {
      if (await search) count += 1;
    });
    if (counted.length > 0) await waitFor(Promise.all(counted), { signal });
    return count;
  };
}

/** @returns whether the id has a result; `null` when it is not looked up */
function find(state: State, id: string): Promise<boolean> | null {
  const { searches, missing, signal } = state;
  if (!searches.has(id)) {
    const isMissing = performance.now() - (missing.get(id) ?? Number.NEGATIVE_INFINITY) < MISSING_FOR_MS;
    if (signal.aborted || !isId(id) || searches.size >= MAX_WAITING || isMissing) return null;
  }
  return searches.run(id, () => ({ result: enqueue(state, id) }));
}

function enqueue(state: State, id: string): Promise<boolean> {
  // Later, so that ids that are requested together are looked up together.
  if (!state.isRunning) setImmediate(() => void run(state));
  state.isRunning = true;
  return new Promise((settle) => {
    state.queue.push({ id, settle });
  });
}

async function run(state: State): Promise<void> {
  const { queue, missing } = state;
  while (queue.length > 0) {
    const batch = queue.splice(0, BATCH);
    const found = new Set<string>();
    try {
      await ask(
        state,
        batch.map(({ id }) => id),
        found,
      );
      for (const { id } of batch) if (!found.has(id)) missing.set(id, performance.now());
    } catch {
      // The backend is unreachable, so it is unknown whether the others have a result.
    }
    for (const { id, settle } of batch) settle(found.has(id));
  }
  state.isRunning = false;
}

async function ask(
  { intake, aside, signal }: State,
  ids: readonly string[],
  found: Set<string>,
): Promise<void> {
  for await (const values of intake.stored.find(ids, signal)) {
    await takeResults(intake, values, aside);
    for (const { id } of values) found.add(id);
  }
}
