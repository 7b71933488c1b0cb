import type { HistoryPart } from '../history.ts';
import type { MemoryState } from './memory-state.ts';

/** The next change by the clock alone, as it was found last. */
interface FoundChange {
  /** The revisions for which it was found. */
  revision: number;
  /** It is valid until then, milliseconds. */
  until: number;
  at: Date | null;
}

/**
 * @returns a function that finds when the clock alone next changes an answer (a worker's status, an overdue task);
 *   `null`: never. Called for every request, so it searches once per revision.
 */
export function createChangeTimes(state: MemoryState): (part: HistoryPart) => Date | null {
  const { tables, workers, revisions, clock } = state;
  const unknown: FoundChange = { revision: -1, until: 0, at: null };
  const found = { tasks: unknown, workers: unknown };

  function find(part: 'tasks' | 'workers'): number {
    const next = workers.nextChange();
    if (part === 'workers') return next;
    tables.catchUp();
    return Math.min(next, tables.index.etas.nextAfter(clock()));
  }

  return (part) => {
    if (part === 'events' || state.frozenAt !== null) return null;
    const revision = revisions.tasks + revisions.workers;
    const known = found[part];
    if (known.revision === revision && clock() < known.until) return known.at;
    const until = find(part);
    const at = Number.isFinite(until) ? new Date(until) : null;
    found[part] = { revision, until, at };
    return at;
  };
}
