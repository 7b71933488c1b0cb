import type { HistoryIndex } from '../history.ts';
import { readLife } from '../table/record-table.ts';
import { catchUp, type MemoryState } from './memory-state.ts';

/** The look-ups of a history in memory. */
export function createMemoryIndex(state: MemoryState): HistoryIndex {
  const { records, rows, open, eviction } = state.tables;
  return {
    stateOf(id) {
      const slot = records.slots.get(id);
      return slot === undefined ? null : rows.state(slot);
    },
    lacksName(id) {
      catchUp(state);
      const slot = records.slots.get(id);
      return slot !== undefined && records.name[slot] === 0 && records.worker[slot] !== 0;
    },
    retriesOf(id) {
      const slot = records.slots.get(id);
      const attempt = slot === undefined ? -1 : rows.attempt(slot);
      return attempt < 0 ? null : attempt;
    },
    sentAt(id) {
      const slot = records.slots.get(id);
      if (slot === undefined || rows.state(slot) !== 'PENDING') return null;
      return readLife(records, slot).timestamp;
    },
    listOpen(limit) {
      catchUp(state);
      return open.list(limit);
    },
    openTask(id) {
      catchUp(state);
      const slot = records.slots.get(id);
      return slot === undefined ? null : open.find(slot);
    },
    isLost: ({ worker, timestamp }) =>
      worker !== null && state.workers.isLost(worker, timestamp ?? Number.NaN),
    wouldKeep(time) {
      catchUp(state);
      return eviction.wouldKeep(time);
    },
    checkWorkers: state.workers.check,
    heardWorkers: state.workers.heard,
  };
}
