/** Records messages about tasks: merges them into records, and updates indexes, workers and feed. */
import type { TaskRelation } from '../../model.ts';
import type { MinuteAggregate } from '../aggregate/minute-aggregate.ts';
import { type EventListener, type HeardEvent, isName, mayEndUnseen } from '../changes.ts';
import type { Feed } from '../feed/feed.ts';
import type { HistoryWriter, TaskChange, TaskChangeType, TaskFacts } from '../history.ts';
import { type Added, applyChange, applyFacts, applyRelations } from '../merge/merge.ts';
import { KIND_ORDER, stateOf, type TaskEntry, type TaskRecord } from '../merge/record.ts';
import { readLife, readRecord } from '../table/record-table.ts';
import { allocateSlot, holdRecord, isFull } from '../table/records.ts';
import type { WorkerDeaths, WorkerTable } from '../workers/worker-table.ts';
import { countEvent } from './count-event.ts';
import { addEvent, type Coverage } from './memory-state.ts';
import { canvasOf, isReported, shared, type Tables } from './tables.ts';
import type { HistoryTap } from './tap.ts';

/** Approximate size of an unpacked entry of a record, in bytes. */
const BYTES_PER_ENTRY = 150;

/** What recording a message changes. */
export interface RecorderContext {
  readonly tables: Tables;
  readonly workers: WorkerTable;
  readonly deaths: WorkerDeaths;
  readonly feed: Feed;
  readonly aggregate: MinuteAggregate;
  readonly coverage: Coverage;
  readonly isBackdated: boolean;
  readonly counts: { received: number; dropped: number };
  readonly revisions: { tasks: number; workers: number; events: number };
  readonly maxAgeMs: number;
  readonly tap: HistoryTap | null;
  readonly listeners: Parameters<typeof tellEvent>[0];
  /** Milliseconds. */
  clock(): number;
  /** Packs the records that have been unpacked for longest, and drops tasks beyond the bounds. */
  packOldest(): void;
}

/** The part of a history that records tasks. */
export type Recorder = Pick<
  HistoryWriter,
  'recordTask' | 'recordFacts' | 'recordRelation' | 'recordMissing' | 'recordEndUnseen'
> & {
  /** Records a relation that another instance has found and stored. */
  absorbRelation: HistoryWriter['recordRelation'];
  /** Milliseconds between the newest change at its sender and its arrival; `null` when there was none. */
  lag(): number | null;
};

interface RecorderState extends RecorderContext {
  lag: number | null;
  newestTime: number;
}

/** @param context is changed by what is recorded */
export function createRecorder(context: RecorderContext): Recorder {
  const state: RecorderState = {
    ...context,
    lag: null,
    newestTime: Number.NEGATIVE_INFINITY,
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
    recordRelation: (relation) => recordRelation(state, relation, state.tap),
    absorbRelation: (relation) => recordRelation(state, relation, null),
    recordMissing(id, missing) {
      const slot = slotOf(id);
      if (slot !== undefined) recordMissing(state, slot, missing, (kind) => kind === 'PENDING');
    },
    recordEndUnseen(id, unseen) {
      const slot = slotOf(id);
      if (slot !== undefined) recordMissing(state, slot, unseen, mayEndUnseen);
    },
  };
}

function recordTask(state: RecorderState, change: TaskChange): void {
  const { tables, counts, revisions } = state;
  const { records, open } = tables;
  const isStored = change.stored === true;
  if (!isStored) counts.received++;
  if (!isName(change.id)) {
    counts.dropped++;
    return;
  }
  const arrivedAt = state.clock();
  const slot = records.slots.get(change.id) ?? allocate(state, change, arrivedAt);
  if (slot === null) return;
  const record = readRecord(records, slot);
  const added = applyChange(record, change, arrivedAt);
  countEvent(state.aggregate, record, change, added, arrivedAt, state.workers.soleQueueOf);
  // A broker may deliver an event twice.
  if (added.isChanged && change.origin === 'event' && !isStored) {
    state.deaths.task(change, record.name, arrivedAt);
    if (state.listeners.size > 0) tellEvent(state.listeners, record, change);
  }
  if (state.isBackdated) state.coverage.extendTo(added.entry.time);
  if (isStored) noteStoredWorker(state, change, added);
  else noteSign(state, change, arrivedAt);
  if (added.isChanged) {
    holdRecord(records.held, slot, record, bytesOf(change));
    state.tap?.stepTaken(record.id, { change, arrivedAt });
    revisions.tasks++;
  }
  if (added.outcome === 'added') open.heardOf(slot, arrivedAt);
  else open.lookedAt(slot, arrivedAt);
  if (added.isNews) publish(state, slot, change, added.entry, record.name, arrivedAt);
  if (isFull(records.held)) state.packOldest();
}

/** Approximate size that a message adds to a record, in bytes. */
function bytesOf({ args, kwargs, result, exception, traceback, detail }: TaskChange): number {
  const characters =
    (args?.length ?? 0) +
    (kwargs?.length ?? 0) +
    (result?.length ?? 0) +
    (exception?.length ?? 0) +
    (traceback?.length ?? 0) +
    (detail?.length ?? 0);
  return BYTES_PER_ENTRY + 2 * characters;
}

/** @returns the slot of a new task; `null` when it is too old to be kept */
function allocate({ tables, maxAgeMs }: RecorderState, change: TaskChange, arrivedAt: number): number | null {
  const { records, relations } = tables;
  const { id, time, heardAt } = change;
  // Stored messages may be older than everything that is kept.
  const happenedAt = time ?? heardAt ?? arrivedAt;
  if (change.stored === true && happenedAt < arrivedAt - maxAgeMs) return null;
  const slot = allocateSlot(records, id);
  if (relations.has(id)) setRelations(tables, slot);
  return slot;
}

/** An event is a sign of life of its worker. */
function noteSign(state: RecorderState, { worker, time }: TaskChange, arrivedAt: number): void {
  const { workers, revisions, tap } = state;
  if (isName(worker)) {
    if (workers.sign(worker, arrivedAt)) {
      revisions.workers++;
      revisions.tasks++;
    }
    tap?.workerChanged(worker);
  }
  if (typeof time === 'number' && time > state.newestTime) {
    state.newestTime = time;
    state.lag = Math.max(0, arrivedAt - time);
  }
}

/** A stored message is no sign of life, but only an open task whose worker is known can count as lost. */
function noteStoredWorker(
  { workers, revisions }: RecorderState,
  { worker }: TaskChange,
  { entry, outcome }: Added,
): void {
  const hasEnded = KIND_ORDER[entry.kind] >= KIND_ORDER.revoked;
  if (outcome === 'added' && !hasEnded && isName(worker) && workers.mention(worker)) revisions.workers++;
}

function publish(
  state: RecorderState,
  slot: number,
  change: TaskChange,
  entry: TaskEntry,
  name: string | null,
  arrivedAt: number,
): void {
  addEvent(
    state,
    {
      type: feedTypeOf(change),
      task: name,
      // The text that the table holds, not the message's own copy.
      taskId: state.tables.records.ids[slot] as string,
      state: stateOf(entry),
      worker: entry.worker,
      time: entry.time,
      detail: change.detail ?? change.exception ?? null,
    },
    arrivedAt,
  );
}

function recordFacts(state: RecorderState, slot: number, facts: TaskFacts): void {
  const { tables, revisions } = state;
  const { records } = tables;
  const record = readRecord(records, slot);
  tables.open.lookedAt(slot, state.clock());
  if (!applyFacts(record, facts)) return;
  holdRecord(records.held, slot, record, (facts.args?.length ?? 0) + (facts.kwargs?.length ?? 0));
  state.tap?.stepTaken(record.id, { facts });
  revisions.tasks++;
  if (isFull(records.held)) state.packOldest();
}

/** @param tap is called with a new relation; `null`: none */
function recordRelation(
  state: RecorderState,
  { parent, child, relation }: TaskRelation,
  tap: HistoryTap | null,
): void {
  const { tables, revisions } = state;
  if (!isName(parent) || !isName(child) || !isName(relation) || parent === child) return;
  const { records, relations } = tables;
  // The chord of a header task is its child, and a group is no task.
  const [id, other] = relation === 'chord' ? [parent, child] : [child, parent];
  const slot = records.slots.get(id);
  if (slot !== undefined && isReported(readRecord(records, slot), relation, other)) return;
  const from = relation === 'group' ? parent : shared(records, parent);
  if (!relations.add(from, shared(records, child), relation)) return;
  if (slot !== undefined) setRelations(tables, slot);
  revisions.tasks++;
  tap?.relationAdded({ parent, child, relation });
  if (isFull(records.held)) state.packOldest();
}

function setRelations({ records, relations, roots }: Tables, slot: number): void {
  const record = readRecord(records, slot);
  if (applyRelations(record, canvasOf(record.id, relations))) holdRecord(records.held, slot, record, 0);
  roots.derive(slot);
}

/** @param isPossible whether a task in this state can be missing */
function recordMissing(
  state: RecorderState,
  slot: number,
  missing: boolean,
  isPossible: (taskState: string) => boolean,
): void {
  const { tables, revisions } = state;
  const { records } = tables;
  tables.open.lookedAt(slot, state.clock());
  const record = readRecord(records, slot);
  if (!isPossible(readLife(records, slot).state) || missing === record.isMissing) return;
  record.isMissing = missing;
  if (missing) tables.open.missed(slot, state.clock());
  else tables.open.heardOf(slot, state.clock());
  holdRecord(records.held, slot, record, 0);
  state.tap?.stepTaken(record.id, { isMissing: missing });
  revisions.tasks++;
  if (isFull(records.held)) state.packOldest();
}

/** Tells listeners of a change that has been merged into its record, if it is a live event. */
export function tellEvent(
  listeners: ReadonlySet<EventListener>,
  record: TaskRecord,
  change: TaskChange,
): void {
  if (change.origin !== 'event' || change.stored === true) return;
  const sent = record.entries.findLast(isHeardSending);
  const event: HeardEvent = {
    change,
    name: record.name,
    queue: sent === undefined ? null : record.queue,
    sentAt: sent?.time ?? null,
    eta: record.eta,
  };
  for (const listener of listeners) listener(event);
}

function isHeardSending({ kind, origin, isStored }: TaskEntry): boolean {
  return kind === 'sent' && origin === 'event' && !isStored;
}

/** Celery's names of the changes. For a custom state that only the result backend reports, Celery sends no event. */
const FEED_TYPES: Readonly<Record<TaskChangeType, string>> = {
  sent: 'task-sent',
  received: 'task-received',
  started: 'task-started',
  succeeded: 'task-succeeded',
  failed: 'task-failed',
  retried: 'task-retried',
  revoked: 'task-revoked',
  rejected: 'task-rejected',
  requeued: 'task-rejected',
  custom: 'state-changed',
};

/** The usual name of the type; the feed would keep the copy of it that each message brings. */
function feedTypeOf({ type, eventType }: TaskChange): string {
  const usual = FEED_TYPES[type];
  return eventType === undefined || eventType === usual ? usual : eventType;
}
