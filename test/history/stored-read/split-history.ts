/** One history in a large memory, and the same split between a small memory and a store. */
import type { HistoryReader, TaskChange } from '../../../src/history/history.ts';
import { createMemoryReader } from '../../../src/history/memory/memory-reader.ts';
import {
  catchUp,
  createMemoryState,
  type MemoryHistoryOptions,
  type MemoryState,
} from '../../../src/history/memory/memory-state.ts';
import { createMemoryView } from '../../../src/history/memory/memory-view.ts';
import { createMemoryWriter } from '../../../src/history/memory/memory-writer.ts';
import { droppedTask } from '../../../src/history/memory/read-kept.ts';
import type { DroppedTask, KeptTask } from '../../../src/history/memory/tap.ts';
import { createRecorder } from '../../../src/history/memory/task-recorder.ts';
import { lifeOf } from '../../../src/history/merge/life.ts';
import { causeOfKept } from '../../../src/history/merge/record-cause.ts';
import type { StoredTask, StoreSession } from '../../../src/history/store.ts';
import { createStoredReader } from '../../../src/history/stored/read/stored-reader.ts';
import { writeRecordText } from '../../../src/history/stored/record-text.ts';
import type { StoredView } from '../../../src/history/stored/stored-view.ts';
import { isDone, type TaskRelation } from '../../../src/model.ts';
import { T0 } from '../telling.ts';

/** A history in memory whose tables tests can read. */
export interface OpenMemory {
  readonly state: MemoryState;
  readonly reader: HistoryReader;
}

/** @returns a history that has heard these messages */
export function memoryOf(
  changes: readonly TaskChange[],
  options: MemoryHistoryOptions = {},
  relations: readonly TaskRelation[] = [],
): OpenMemory {
  const state = createMemoryState({ now: () => T0 + 60_000, instance: 'one', ...options });
  const recorder = createRecorder({ ...state, packOldest: () => catchUp(state) });
  const writer = createMemoryWriter(state, recorder);
  for (const hostname of ['w1@a', 'w2@b']) writer.recordWorker({ type: 'heartbeat', hostname, time: T0 });
  for (const change of changes) writer.recordTask(change);
  for (const relation of relations) writer.recordRelation(relation);
  catchUp(state);
  return { state, reader: createMemoryReader(state, recorder.lag) };
}

/** The task as memory keeps it. */
export function keptOf({ state }: OpenMemory, id: string): KeptTask | null {
  const { records, redaction } = state.tables;
  const slot = records.slots.get(id);
  if (slot === undefined) return null;
  return { record: redaction.record(slot), rootId: records.roots[slot] ?? null, shortened: [] };
}

/** The task as it is stored. */
export function storedOf(task: KeptTask, version = 1, day = 1): StoredTask {
  const { record, rootId } = task;
  const life = lifeOf(record.entries, record.runtime);
  const cause = causeOfKept(task, life);
  const { id, name, queue, parentId, groupId, chordId } = record;
  const { state, worker, timestamp, received, started, finished, runtime } = life;
  return {
    ...{ id, day, version, name, queue, rootId, parentId, groupId, chordId },
    ...{ state, worker, timestamp, received, started, finished, runtime },
    isOpen: !isDone(state),
    cause: state === 'FAILURE' ? (cause?.id ?? '') : null,
    ...writeRecordText(record, cause),
  };
}

/** Tasks as a history offers them that memory has dropped before they were written. */
export function droppedTasks(tasks: readonly KeptTask[]): ReadonlyMap<string, DroppedTask> {
  return new Map(tasks.map((task) => [task.record.id, droppedTask(task)]));
}

/** A reader over a history in memory and a session. */
export function readerOver(
  memory: OpenMemory,
  session: () => StoreSession | null,
  options: Partial<StoredView> = {},
): HistoryReader {
  return createStoredReader({
    memory: createMemoryView(memory.state, memory.reader),
    session,
    hearing: () => 'all',
    retention: { taskDays: 100_000, rollupDays: 90 },
    now: Date.now,
    droppedThrough: () => Number.POSITIVE_INFINITY,
    changedIds: () => [],
    droppedTasks: () => new Map(),
    ...{ revision: () => 0, countedSince: () => null },
    noteRead: () => {},
    ...options,
  });
}
