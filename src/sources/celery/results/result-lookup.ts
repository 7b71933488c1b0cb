/** Looks up the results of tasks by their ids: in batches, each id once at a time. */
import { isId } from '../protocol/ids.ts';
import { type Aside, type ResultIntake, takeResults } from './result-intake.ts';

/** Ids that wait or are asked for at a time; more are not looked up. */
const MAX_WAITING = 5_000;
/** Ids asked for at once. */
const BATCH = 500;
/** How long an id without a result is not asked for again, and most such ids remembered. */
const MISSING_FOR_MS = 1_000;
const MAX_MISSING = 5_000;

/** What a look-up needs. */
export interface ResultLookupOptions {
  readonly intake: ResultIntake;
  /** Receives results that the history would not keep. */
  readonly aside: Aside;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * Looks up the stored results of tasks for the history. Never rejects; while the backend is away, nothing
 * is found.
 *
 * @param signal ends the waiting
 * @returns how many of the ids have a result
 */
export type ResultLookup = (ids: Iterable<string>, signal: AbortSignal) => Promise<number>;

/** An id that is being looked up, for everybody who wants it. */
interface Search {
  readonly found: Promise<boolean>;
  settle(found: boolean): void;
}

interface State {
  readonly searches: Map<string, Search>;
  /** Ids without a result, and when that was seen, by the monotonic clock; the oldest first. */
  readonly missing: Map<string, number>;
  queue: string[];
  isRunning: boolean;
}

export function createResultLookup(options: ResultLookupOptions): ResultLookup {
  const state: State = { searches: new Map(), missing: new Map(), queue: [], isRunning: false };
  return async (ids, signal) => {
    if (signal.aborted) return 0;
    const found = [...new Set(ids)].flatMap((id) => find(options, state, id) ?? []);
    if (found.length === 0) return 0;
    let count = 0;
    const all = Promise.all(
      found.map(async (one) => {
        if (await one) count += 1;
      }),
    );
    await unlessAborted(all, signal);
    return count;
  };
}

/** @returns `null` when the id is not looked up */
function find(options: ResultLookupOptions, state: State, id: string): Promise<boolean> | null {
  const { searches, queue } = state;
  const known = searches.get(id);
  if (known !== undefined) return known.found;
  if (options.signal.aborted || !isId(id) || searches.size >= MAX_WAITING || isMissing(state, id))
    return null;
  let settle: Search['settle'] = () => {};
  const found = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  searches.set(id, { found, settle });
  queue.push(id);
  // A moment later, so that ids that are wanted together are asked for together.
  if (!state.isRunning) setImmediate(() => void run(options, state));
  state.isRunning = true;
  return found;
}

async function run(options: ResultLookupOptions, state: State): Promise<void> {
  while (state.queue.length > 0) {
    const batch = state.queue.splice(0, BATCH);
    const found = new Set<string>();
    try {
      await ask(options, batch, found);
      for (const id of batch) if (!found.has(id)) remember(state.missing, id);
    } catch {
      // The backend is away, so it is not known whether the others have a result.
    }
    for (const id of batch) {
      state.searches.get(id)?.settle(found.has(id));
      state.searches.delete(id);
    }
  }
  state.isRunning = false;
}

async function ask(
  { intake, aside, signal }: ResultLookupOptions,
  ids: readonly string[],
  found: Set<string>,
): Promise<void> {
  for await (const values of intake.stored.find(ids, signal)) {
    await takeResults(intake, values, signal, aside);
    for (const { id } of values) found.add(id);
  }
}

function remember(missing: Map<string, number>, id: string): void {
  missing.delete(id);
  missing.set(id, performance.now());
  if (missing.size > MAX_MISSING) missing.delete(missing.keys().next().value as string);
}

function isMissing({ missing }: State, id: string): boolean {
  const since = missing.get(id);
  if (since === undefined) return false;
  if (performance.now() - since < MISSING_FOR_MS) return true;
  missing.delete(id);
  return false;
}

function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    void work.then(end);
  });
}
