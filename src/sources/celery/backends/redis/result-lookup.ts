/** Looks up the results of tasks by their ids. */
import type { StoredResult } from '../../protocol/messages.ts';
import type { ResultKeys } from './result-keys.ts';
import type { ResultTaker } from './result-taker.ts';
import type { ValueStore } from './value-store.ts';

/** Ids that wait or are asked for at a time; more are not looked up. */
const MOST_WAITING = 5_000;
/** Ids asked for at once. */
const BATCH = 500;
/** How long an id that is nowhere is not asked for again, and most such ids remembered. */
const MISSING_FOR_MS = 1_000;
const MOST_MISSING = 5_000;
const LONGEST_ID = 512;

/** What a lookup needs. */
export interface ResultLookupOptions {
  readonly store: ValueStore;
  readonly keys: ResultKeys;
  readonly taker: ResultTaker;
  /** Is told of those that the history would not keep. */
  readonly aside: (result: StoredResult) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * Looks up what is stored of tasks and tells the history. Each id is asked for once at a time, however
 * many want to know. Never rejects; when Redis is away, nothing is found.
 *
 * @param signal ends the waiting
 * @returns how many were found
 */
export type ResultLookup = (ids: Iterable<string>, signal: AbortSignal) => Promise<number>;

export function createResultLookup(options: ResultLookupOptions): ResultLookup {
  const { store, keys, taker, aside, signal: stopped } = options;
  const asked = new Map<string, { readonly found: Promise<boolean>; settle(found: boolean): void }>();
  const missing = new Map<string, number>();
  let queue: string[] = [];
  let pumping = false;

  async function pump(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH);
      queue = queue.slice(BATCH);
      const found = new Set<string>();
      try {
        await ask(batch, found);
        for (const id of batch) if (!found.has(id)) remember(id);
      } catch {
        // Redis is away: nobody knows whether they are there.
      }
      for (const id of batch) {
        asked.get(id)?.settle(found.has(id));
        asked.delete(id);
      }
    }
    pumping = false;
  }

  async function ask(ids: readonly string[], found: Set<string>): Promise<void> {
    for await (const part of store.read(ids.map(keys.task), stopped)) {
      const results = part.keys.map((key, at) => [keys.taskOf(key) ?? '', part.values[at] ?? null] as const);
      await taker.take(results, stopped, aside);
      for (const [id, value] of results) if (value !== null) found.add(id);
    }
  }

  /** The oldest stand first. */
  function remember(id: string): void {
    missing.delete(id);
    missing.set(id, performance.now());
    if (missing.size > MOST_MISSING) missing.delete(missing.keys().next().value as string);
  }

  function isMissing(id: string): boolean {
    const since = missing.get(id);
    if (since === undefined) return false;
    if (performance.now() - since < MISSING_FOR_MS) return true;
    missing.delete(id);
    return false;
  }

  function find(id: string): Promise<boolean> | null {
    const going = asked.get(id);
    if (going !== undefined) return going.found;
    if (id === '' || id.length > LONGEST_ID || isMissing(id)) return null;
    if (stopped.aborted || asked.size >= MOST_WAITING) return null;
    let settle: (found: boolean) => void = () => {};
    const found = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    asked.set(id, { found, settle });
    queue.push(id);
    // A moment later, so that ids that are asked for together go together.
    if (!pumping) setImmediate(() => void pump());
    pumping = true;
    return found;
  }

  return async (ids, signal) => {
    const searches = [...new Set(ids)].flatMap((id) => find(id) ?? []);
    if (searches.length === 0 || signal.aborted) return 0;
    let count = 0;
    const note = (found: boolean): void => {
      if (found) count += 1;
    };
    await unlessAborted(Promise.all(searches.map((search) => search.then(note))), signal);
    return count;
  };
}

function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const leave = (): void => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    signal.addEventListener('abort', leave, { once: true });
    void work.then(leave);
  });
}
