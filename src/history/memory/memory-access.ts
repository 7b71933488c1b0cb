import { absorbTask, readKept } from './kept-tasks.ts';
import { isSeenWhole } from './memory-reader.ts';
import { catchUp, type MemoryState } from './memory-state.ts';
import type { MemoryAccess } from './tap.ts';
import type { Recorder } from './task-recorder.ts';

/** Tasks that are dropped between two pauses. */
const FORGOTTEN_AT_ONCE = 100;

/** The interface of a history in memory for the code that stores it. */
export function createMemoryAccess(state: MemoryState, recorder: Recorder): MemoryAccess {
  const { tables, workers, feed, coverage, aggregate, revisions, tap } = state;
  return {
    instance: feed.instance,
    counts: aggregate,
    isWatched: (from, to) => isSeenWhole(state, from, to),
    catchUp: () => catchUp(state),
    has: (id) => tables.records.slots.has(id),
    readTask(id) {
      const slot = tables.records.slots.get(id);
      return slot === undefined ? null : readKept(tables, slot);
    },
    readWorker: workers.read,
    readEvents: feed.readHeard,
    absorbTask: (task, heardAt, steps) => absorbTask(state, task, heardAt, steps),
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
      let count = 0;
      for (const [id, slot] of tables.records.slots) {
        if (tap?.isUnwritten(id) === true) continue;
        tables.eviction.forget(slot);
        if (++count % FORGOTTEN_AT_ONCE !== 0) continue;
        revisions.tasks++;
        yield;
        catchUp(state);
      }
      tables.eviction.restart();
      tables.relations.clear();
      revisions.tasks++;
    },
    droppedThrough: tables.eviction.droppedThrough,
  };
}
