/** Records what is reported of tasks: merges it into their records, and lets indexes, workers and feed know. */

import { FEED_TYPES, type Feed } from '../feed/feed.ts';
import type { HistoryWriter, TaskChange, TaskFacts } from '../history.ts';
import { type Draft, draftOf } from '../merge/draft.ts';
import { type Merged, mergeChange, mergeFacts, mergeRelations } from '../merge/merge.ts';
import { emptyRecord, KIND_ORDER, stateOf, type TaskRecord } from '../merge/record.ts';
import { isName } from '../names.ts';
import { heldText, holdPending } from '../table/interned-strings.ts';
import { holdRecord, readRecord, writeRecord } from '../table/record-table.ts';
import { allocateSlot } from '../table/records.ts';
import type { WorkerTable } from '../workers/worker-table.ts';
import type { Tables } from './tables.ts';
import { canvasOf, isReported, relate, shared } from './write-relatives.ts';

/** What recording a message changes. */
export interface RecorderContext {
  readonly tables: Tables;
  readonly workers: WorkerTable;
  readonly feed: Feed;
  readonly counts: { received: number; dropped: number };
  readonly revisions: { tasks: number; workers: number; events: number };
  readonly maxAgeMs: number;
  /** Milliseconds. */
  clock(): number;
  /** Updates the indexes and drops what is too much. */
  catchUp(): void;
}

/** The part of a history that records tasks. */
export type Recorder = Pick<
  HistoryWriter,
  'recordTask' | 'recordFacts' | 'recordRelation' | 'recordMissing'
> & {
  /** Milliseconds between the newest change at its sender and its arrival; `null` when none came. */
  lag(): number | null;
};

interface RecorderState extends RecorderContext {
  lag: number | null;
  newestTime: number;
  /** The next record, to be filled in: an object of its own for each message is garbage that costs much. */
  scratch: Draft;
}

/** @param context is changed by what is recorded */
export function createRecorder(context: RecorderContext): Recorder {
  const state: RecorderState = {
    ...context,
    lag: null,
    newestTime: Number.NEGATIVE_INFINITY,
    scratch: draftOf(emptyRecord('')),
  };
  const { slots } = context.tables.records;
  const slotOf = (id: string): number | undefined => (isName(id) ? slots.get(id) : undefined);
  return {
    lag: () => state.lag,
    recordTask: (change) => recordTask(state, change),
    recordFacts(facts) {
      const slot = slotOf(facts.id);
      if (slot !== undefined) recordFacts(state, slot, facts);
    },
    recordRelation: (relation) => recordRelation(state, relation),
    recordMissing(id, missing) {
      const slot = slotOf(id);
      if (slot !== undefined) recordMissing(state, slot, missing);
    },
  };
}

function recordTask(state: RecorderState, change: TaskChange): void {
  const { tables, counts, revisions } = state;
  const { records, open, index, rows } = tables;
  const isStored = change.stored === true;
  if (!isStored) counts.received++;
  if (!isName(change.id)) {
    counts.dropped++;
    return;
  }
  const arrivedAt = state.clock();
  const slot = records.slots.get(change.id) ?? allocate(state, change, arrivedAt);
  if (slot === null) return;
  const before = read(tables, slot);
  const merged = mergeChange(before, change, arrivedAt, state.scratch);
  const { record, outcome } = merged;
  if (isStored) noteStoredWorker(state, change, merged);
  else noteSign(state, change, arrivedAt);
  if (outcome !== 'known') index.touch(slot);
  if (record !== before) {
    const isHeld = write(tables, slot, before, record);
    // Nobody needs the one before any more.
    if (isHeld && record === state.scratch) state.scratch = before as Draft;
    rows.forget(slot);
    revisions.tasks++;
  }
  if (outcome === 'added') open.heardOf(slot, arrivedAt);
  else open.lookedAt(slot, arrivedAt);
  if (merged.isNews) publish(state, slot, change, merged, arrivedAt);
  if (index.isFull()) state.catchUp();
}

/** @returns the slot of a new task; `null` when it is too old to be kept */
function allocate({ tables, maxAgeMs }: RecorderState, change: TaskChange, arrivedAt: number): number | null {
  const { records, relations } = tables;
  const { id, time, heardAt } = change;
  // What is read from where it is stored may be older than anything that is kept.
  const happenedAt = time ?? heardAt ?? arrivedAt;
  if (change.stored === true && happenedAt < arrivedAt - maxAgeMs) return null;
  const slot = allocateSlot(records, id);
  if (relations.has(id)) placeByRelations(tables, slot);
  return slot;
}

/** An event is a sign of life of its worker. */
function noteSign(state: RecorderState, { worker, time }: TaskChange, arrivedAt: number): void {
  const { workers, revisions } = state;
  if (isName(worker) && workers.sign(worker, arrivedAt)) {
    revisions.workers++;
    revisions.tasks++;
  }
  if (typeof time === 'number' && time > state.newestTime) {
    state.newestTime = time;
    state.lag = Math.max(0, arrivedAt - time);
  }
}

/** A stored message is no sign of life, but the worker of an open task must be known so that it can get lost. */
function noteStoredWorker(
  { workers, revisions }: RecorderState,
  { worker }: TaskChange,
  { entry, outcome }: Merged,
): void {
  const hasEnded = KIND_ORDER[entry.kind] >= KIND_ORDER.revoked;
  if (outcome === 'added' && !hasEnded && isName(worker) && workers.mention(worker)) revisions.workers++;
}

function publish(
  { tables, feed, revisions }: RecorderState,
  slot: number,
  change: TaskChange,
  { record, entry }: Merged,
  arrivedAt: number,
): void {
  const { records } = tables;
  revisions.events++;
  feed.add(
    {
      type: change.eventType ?? (FEED_TYPES[change.type] as string),
      // The texts that the table holds, not the message's own copies.
      task: record.name === null ? null : heldText(records.names, record.name),
      taskId: records.ids[slot] as string,
      state: stateOf(entry),
      worker: entry.worker === null ? null : heldText(records.workers, entry.worker),
      time: entry.time,
      detail: change.detail ?? change.exception ?? null,
    },
    arrivedAt,
  );
}

function recordFacts(state: RecorderState, slot: number, facts: TaskFacts): void {
  const { tables, revisions } = state;
  const before = read(tables, slot);
  const after = mergeFacts(before, facts);
  tables.open.lookedAt(slot, state.clock());
  if (after !== before) {
    // The order by eta depends on it.
    if (after.eta !== before.eta || after.expires !== before.expires) tables.index.touch(slot);
    write(tables, slot, before, after);
    tables.rows.forget(slot);
    revisions.tasks++;
  }
  if (tables.index.isFull()) state.catchUp();
}

function recordRelation(
  { tables, revisions }: RecorderState,
  { parent, child, relation }: Parameters<HistoryWriter['recordRelation']>[0],
): void {
  if (!isName(parent) || !isName(child) || !isName(relation) || parent === child) return;
  const { records, relations, rows } = tables;
  // The chord of a header task is its child, and a group is no task.
  const [id, other] = relation === 'chord' ? [parent, child] : [child, parent];
  const slot = records.slots.get(id);
  if (slot !== undefined && isReported(read(tables, slot), relation, other)) return;
  const from = relation === 'group' ? parent : shared(records, parent);
  if (!relations.add(from, shared(records, child), relation)) return;
  if (slot !== undefined) {
    placeByRelations(tables, slot);
    rows.forget(slot);
  }
  revisions.tasks++;
}

function placeByRelations(tables: Tables, slot: number): void {
  const before = read(tables, slot);
  const after = mergeRelations(before, canvasOf(before.id, tables.relations));
  if (after !== before) write(tables, slot, before, after);
  tables.roots.derive(slot);
}

function recordMissing(state: RecorderState, slot: number, missing: boolean): void {
  const { tables, revisions } = state;
  tables.open.lookedAt(slot, state.clock());
  const before = read(tables, slot);
  const isMissing = missing && tables.rows.state(slot) === 'PENDING';
  if (isMissing === before.isMissing) return;
  write(tables, slot, before, { ...before, isMissing });
  tables.rows.forget(slot);
  revisions.tasks++;
}

function read({ records, index }: Tables, slot: number): TaskRecord {
  return readRecord(records, slot, records.waiting[slot] === 0 ? null : index.touch(slot));
}

/** @returns whether the table holds the new record as it is */
function write(tables: Tables, slot: number, before: TaskRecord, after: TaskRecord): boolean {
  const { records, index } = tables;
  writeRecord(records, slot, before, after);
  if (after.name !== before.name || after.queue !== before.queue) {
    const pending = index.touch(slot);
    const { names, queues } = records;
    pending.name = holdPending(names, pending.name, records.name[slot] as number, after.name);
    pending.queue = holdPending(queues, pending.queue, records.queue[slot] as number, after.queue);
  }
  relate(tables, slot, before, after);
  return holdRecord(records, slot, after);
}
