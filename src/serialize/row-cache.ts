import type { Task } from '../model.ts';

// Rows of the pages that are looked at; far fewer than the tasks that a history holds.
const MOST_ROWS = 5_000;

/**
 * Remembers the row of a frozen task, which cannot change: a list of which little has changed costs little.
 * Two generations: a row that is not asked for while the young one fills up is forgotten with the old.
 */
export function createRowCache(): {
  /** @param make called when the row is not known; `null` is not remembered */
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

/** A Proxy can say that it is frozen and still give what it likes; then its first row stays. */
function isFrozen(value: unknown): boolean {
  try {
    return typeof value === 'object' && value !== null && Object.isFrozen(value);
  } catch {
    return false;
  }
}
