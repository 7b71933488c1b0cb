import type { Task } from '../model.ts';

// Enough for the pages that people view, far fewer than the tasks of a history.
const MOST_ROWS = 5_000;

/**
 * Caches the JSON rows of frozen tasks, which cannot change, so that a list with few changes costs little.
 * Eviction works by two generations: a row that is not read while the young generation fills up is dropped
 * with the old one.
 */
export function createRowCache(): {
  /** @param make creates a row that is not cached. `null` is not cached */
  get(task: Task, make: () => string | null): string | null;
} {
  let young = new WeakMap<Task, string>();
  let old = new WeakMap<Task, string>();
  let count = 0;

  function remember(task: Task, row: string): void {
    if (count >= MOST_ROWS) {
      old = young;
      young = new WeakMap();
      count = 0;
    }
    young.set(task, row);
    count += 1;
  }

  return {
    get(task, make) {
      if (!isFrozen(task)) return make();
      const known = young.get(task);
      if (known !== undefined) return known;
      const row = old.get(task) ?? make();
      if (row !== null) remember(task, row);
      return row;
    },
  };
}

/** A Proxy can claim to be frozen and still return other values. Its first row is then kept. */
function isFrozen(value: unknown): boolean {
  try {
    return typeof value === 'object' && value !== null && Object.isFrozen(value);
  } catch {
    return false;
  }
}
