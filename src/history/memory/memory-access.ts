import { absorbTask } from './absorb-task.ts';
import { isSeenWhole } from './memory-reader.ts';
import { catchUp, type MemoryState } from './memory-state.ts';
import { detachKept, readKept } from './read-kept.ts';
import type { Tables } from './tables.ts';
import type { MemoryAccess } from './tap.ts';
import type { Recorder } from './task-recorder.ts';

/** Tasks that are dropped between two pauses. */
const FORGOTTEN_AT_ONCE = 100;

/** The interface of a history in memory for the code that stores it. */
export function createMemoryAccess(state: MemoryState, recorder: Recorder): MemoryAccess {
  const { tables, workers, feed, coverage, aggregate, revisions } = state;
  return {
    instance: feed.instance,
    counts: aggregate,
    isWatched: (from, to) => isSeenWhole(state, from, to),
    catchUp: () => catchUp(state),
    readTask: (id) => readWith(tables, id, readKept),
    detachTask: (id) => readWith(tables, id, detachKept),
    readWorker: workers.read,
    readEvents: feed.readHeard,
    absorbTask: (task, heardAt) => absorbTask(state, task, heardAt),
    absorbRelation(relation) {
      if (!state.isClosed) recorder.absorbRelation(relation);
    },
    absorbWorker(worker) {
      if (state.isClosed) return;
      const { isNews, isChanged } = workers.absorb(worker);
      if (isNews) revisions.workers++;
      // Its tasks may gain or lose a flag.
      if (isChanged) revisions.tasks++;
    },
    *absorbEvents(heard) {
      if (yield* feed.absorb(heard)) revisions.events++;
    },
    absorbCoverage(from, to) {
      if (coverage.addSeen(from, to)) revisions.tasks++;
    },
    *forgetTasks() {
      catchUp(state);
      while (tables.eviction.forget(FORGOTTEN_AT_ONCE)) {
        revisions.tasks++;
        yield;
        catchUp(state);
      }
      tables.relations.clear();
      revisions.tasks++;
    },
    droppedThrough: tables.eviction.droppedThrough,
  };
}

function readWith<Result>(
  tables: Tables,
  id: string,
  read: (tables: Tables, slot: number) => Result,
): Result | null {
  const slot = tables.records.slots.get(id);
  return slot === undefined ? null : read(tables, slot);
}
