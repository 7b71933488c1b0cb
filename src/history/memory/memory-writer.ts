import type { HistoryWriter, WorkerChange } from '../history.ts';
import { isName } from '../names.ts';
import type { MemoryState } from './memory-state.ts';
import type { Recorder } from './task-recorder.ts';

/** The writer of a history in memory. */
export function createMemoryWriter(state: MemoryState, recorder: Recorder): HistoryWriter {
  return {
    recordTask(change) {
      if (!state.isClosed) recorder.recordTask(change);
    },
    recordFacts(facts) {
      if (!state.isClosed) recorder.recordFacts(facts);
    },
    recordRelation(relation) {
      if (!state.isClosed) recorder.recordRelation(relation);
    },
    recordMissing(id, missing) {
      if (!state.isClosed) recorder.recordMissing(id, missing);
    },
    recordWorker(change) {
      if (!state.isClosed) recordWorker(state, change);
    },
    recordDropped(count) {
      state.counts.dropped += count;
    },
    recordGap() {
      state.feed.markGap();
      state.revisions.events++;
    },
    freezeAt: (moment) => freezeAt(state, moment),
  };
}

function recordWorker({ workers, feed, counts, revisions, clock }: MemoryState, change: WorkerChange): void {
  if (change.type !== 'reply') counts.received++;
  if (!isName(change.hostname)) {
    counts.dropped++;
    return;
  }
  const { isNews, isChanged } = workers.record(change);
  revisions.workers++;
  // Tasks of a worker that came back or left may gain or lose a flag.
  if (isNews || isChanged) revisions.tasks++;
  if (!isNews) return;
  revisions.events++;
  const { type, hostname: worker, time } = change;
  const item = { type: `worker-${type}`, task: null, taskId: null, state: null, worker, time, detail: null };
  feed.add(item, clock());
}

function freezeAt(state: MemoryState, moment: Date | null): void {
  // No worker could be heard while the source was disconnected.
  if (moment === null && state.frozenAt !== null) state.workers.excuse(state.clock() - state.frozenAt);
  state.frozenAt = moment === null ? null : moment.getTime();
  state.revisions.tasks++;
  state.revisions.workers++;
}
