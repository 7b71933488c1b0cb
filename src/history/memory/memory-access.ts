/**
 * A history in memory, as the code sees it that stores it and reads it together with a store. It absorbs tasks that an
 * earlier process or another instance has stored.
 */
import { isDone, type Task, type TaskCause, type TaskRelation, type TaskTextField } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { TaskFigures } from '../../select/task-figures.ts';
import type { TaskQuery } from '../../source.ts';
import { familyNames } from '../answers/rows.ts';
import { childrenOf } from '../answers/workflow.ts';
import { isName } from '../changes.ts';
import type { HeardItem } from '../feed/feed-ring.ts';
import type { HistoryReader } from '../history.ts';
import { lifeOf } from '../merge/life.ts';
import { applyRelations, applyStep, type RecordStep } from '../merge/merge.ts';
import { copyRecord, type TaskRecord } from '../merge/record.ts';
import { causeOfRecord } from '../merge/task.ts';
import { readRecord } from '../table/record-table.ts';
import { allocateSlot, FACT, type Records } from '../table/records.ts';
import { markShortened, shortenedIn } from '../table/redaction.ts';
import type { StoredWorker } from '../workers/worker-record.ts';
import { causesBefore, isSeenWhole } from './memory-reader.ts';
import { catchUp, evict, type MemoryState } from './memory-state.ts';
import { canvasOf, shared, type Tables } from './tables.ts';
import type { AbsorbedTask, KeptTask } from './tap.ts';
import type { Recorder } from './task-recorder.ts';

/** Tasks that are dropped between two pauses. */
const FORGOTTEN_AT_ONCE = 100;

/** A task in memory, as it is visited. */
export interface VisitedTask {
  readonly id: string;
  /** What statistics are made of. */
  figures(): TaskFigures;
}

/** Nothing here calls the tap unless stated. */
export type MemoryAccess = ReturnType<typeof createMemoryAccess>;

/** @param reader answers from memory alone */
export function createMemoryAccess(state: MemoryState, recorder: Recorder, reader: HistoryReader) {
  return { reader, ...readsOf(state), ...relativesIn(state), ...absorbersOf(state, recorder) };
}

function readsOf(state: MemoryState) {
  const { tables, workers, feed, aggregate, flags } = state;
  const { records, index, rows, list, redaction } = tables;
  return {
    /** The data on which flags of tasks that are not in memory depend. */
    flags,
    /** Identifies this process in the feed, at most 32 characters. */
    instance: feed.instance,
    /** What is counted by minute, which a store keeps as rollups. */
    counts: aggregate,
    /** When causes of failures were first seen. */
    causesBefore: causesBefore(state),
    /** Names of the tasks in memory and of those that they sent. */
    family: familyNames(records, index),
    /** Whether texts have no secrets. */
    isRedacted: redaction.isActive,
    /** A record without secrets. */
    redacted: redaction.redacted,
    /** Whether everything that happened between these times was seen. */
    isWatched: (from: number, to: number): boolean => isSeenWhole(state, from, to),
    /** Whether a worker sends messages. */
    isOnline: (hostname: string): boolean => workers.isOnline(hostname),
    /** Brings the indexes up to date, which reports the tasks that have changed. */
    catchUp: () => catchUp(state),
    /** Whether a task is in memory. */
    has: (id: string): boolean => records.slots.has(id),
    /** `null`: the task is not in memory. Its texts are redacted. */
    readTask(id: string): KeptTask | null {
      const slot = records.slots.get(id);
      return slot === undefined ? null : readKept(tables, slot);
    },
    /** The row of a task as it is now; `null`: the task is not in memory. */
    row(id: string): Task | null {
      catchUp(state);
      const slot = records.slots.get(id);
      return slot === undefined ? null : rows.get(slot);
    },
    /** The time of the earliest message of a task, milliseconds since 1970; `null`: the task is not in memory. */
    firstTime(id: string): number | null {
      const slot = records.slots.get(id);
      if (slot === undefined) return null;
      return readRecord(records, slot).entries.reduce((first, { time }) => Math.min(first, time), Infinity);
    },
    /** Visits every task that passes the filters but the text. */
    *visit(query: TaskQuery, visit: (task: VisitedTask) => void): Steps<void> {
      catchUp(state);
      yield* list.visit(query, (slot) =>
        visit({ id: records.ids[slot] as string, figures: () => rows.figures(slot) }),
      );
    },
    readWorker: workers.read,
    /** The items that this process has received after a number, oldest first, `most` at most, without secrets. */
    readEvents: (after: number, most: number): readonly HeardItem[] => feed.readHeard(after, most),
  };
}

function relativesIn(state: MemoryState) {
  const { records, index, relations } = state.tables;
  return {
    /** Ids of the tasks that this one sent, as far as memory knows, in memory or not. */
    children(id: string): readonly string[] {
      catchUp(state);
      return childrenOf(id, state.tables);
    },
    /** Ids of the tasks in memory that name this id as their parent, group or chord. */
    linked(id: string): readonly string[] {
      catchUp(state);
      const { byParent, byChord, byGroup } = index;
      const slots = [byParent, byChord, byGroup].flatMap((groups) => [...groups.list(id)]);
      return slots.map((slot) => records.ids[slot] as string);
    },
    /** The relations from and to an id that are in memory. */
    relations: (id: string): readonly TaskRelation[] =>
      relations.has(id) ? [...relations.from(id), ...relations.to(id)] : [],
  };
}

function absorbersOf(state: MemoryState, recorder: Recorder) {
  const { tables, workers, feed, coverage, revisions, tap } = state;
  const { records, relations, eviction } = tables;
  return {
    /**
     * Absorbs a stored task. Not a message: it is neither counted nor listed in the feed. The tap hears of other tasks
     * whose root follows from this one.
     *
     * @param task without secrets; without `shortened`, all texts are as they arrived
     * @param heardAt when its last message arrived, by which its age is judged
     * @param steps what this process was told of the task since. Default: a task in memory stays as it is
     * @returns `'same'`: memory now has the given task; `'merged'`: memory knew more, which must be stored, too;
     *   `'refused'`: it does not fit into memory, and counts as dropped
     */
    absorbTask: (task: AbsorbedTask, heardAt: number, steps?: readonly RecordStep[]) =>
      absorbTask(state, task, heardAt, steps),
    absorbRelation(relation: TaskRelation): void {
      if (!state.isClosed) recorder.absorbRelation(relation);
    },
    /** The later of the known and the given data is used. */
    absorbWorker(worker: StoredWorker): void {
      if (state.isClosed) return;
      const { isNews, isChanged } = workers.absorb(worker);
      if (isNews) revisions.workers++;
      // Its tasks may gain or lose a flag.
      if (isChanged) revisions.tasks++;
    },
    /**
     * Adds items of other instances, or of earlier processes, to the feed: the first ones before those of this process,
     * all others behind the newest. Known items are left out. One call at a time.
     *
     * @param heard items whose details have no secrets, by the instance that received them
     */
    *absorbEvents(heard: ReadonlyMap<string, readonly HeardItem[]>): Steps<void> {
      if (yield* feed.absorb(heard)) revisions.events++;
    },
    /** Records that everything between these times was seen by the instance that stored it. */
    absorbCoverage(from: number, to: number): void {
      if (coverage.addSeen(from, to)) revisions.tasks++;
    },
    /** Drops all tasks that are written, and all relations, without calling the tap, as if there had been none. */
    *forgetTasks(): Steps<void> {
      catchUp(state);
      let count = 0;
      for (const [id, slot] of records.slots) {
        if (tap?.isUnwritten(id) === true) continue;
        eviction.forget(slot);
        if (++count % FORGOTTEN_AT_ONCE !== 0) continue;
        revisions.tasks++;
        yield;
        catchUp(state);
      }
      eviction.restart();
      relations.clear();
      revisions.tasks++;
    },
    /**
     * The latest change among the tasks that were dropped from memory or refused; `-Infinity`: none was. All tasks that
     * changed later and were received or absorbed are in memory. Valid until the next change.
     */
    droppedThrough: eviction.droppedThrough,
  };
}

/** @returns see `MemoryAccess.absorbTask` */
export function absorbTask(
  state: MemoryState,
  task: AbsorbedTask,
  heardAt: number,
  steps?: readonly RecordStep[],
): 'same' | 'merged' | 'refused' {
  const { tables, isClosed } = state;
  const { id } = task.record;
  if (isClosed || !isName(id)) return 'refused';
  const slot = tables.records.slots.get(id);
  if (slot === undefined) return addTask(state, task, heardAt);
  return steps === undefined ? 'same' : mergeTask(state, slot, task, heardAt, steps);
}

function addTask(
  state: MemoryState,
  { record, rootId, shortened = [], cause }: AbsorbedTask,
  heardAt: number,
): 'same' | 'merged' | 'refused' {
  const { records, eviction, relations } = state.tables;
  const timestamp = (): number | null => lifeOf(record.entries, record.runtime).timestamp;
  if (!eviction.takesIn(timestamp, heardAt)) return 'refused';
  const slot = allocateSlot(records, record.id);
  const own = relations.has(record.id) ? copyRecord(record) : null;
  const isRelated = own !== null && applyRelations(own, canvasOf(record.id, relations));
  write(
    state,
    slot,
    { record: own ?? record, rootId, shortened, ...(cause !== undefined && { cause }) },
    heardAt,
  );
  evict(state);
  if (records.slots.get(record.id) !== slot) return 'refused';
  return isRelated || (records.roots[slot] ?? null) !== rootId ? 'merged' : 'same';
}

function mergeTask(
  state: MemoryState,
  slot: number,
  { record: given, rootId, shortened = [] }: AbsorbedTask,
  heardAt: number,
  steps: readonly RecordStep[],
): 'merged' {
  const { tables } = state;
  tables.packHeld(slot);
  const record = { ...copyRecord(given), id: tables.records.ids[slot] as string };
  for (const step of steps) applyStep(record, step);
  if (tables.relations.has(given.id)) applyRelations(record, canvasOf(given.id, tables.relations));
  const isCut = (field: TaskTextField): boolean => record[field] === given[field];
  write(state, slot, { record, rootId, shortened: shortened.filter(isCut) }, heardAt);
  // The texts of the messages may have secrets.
  tables.redaction.unmark(slot);
  evict(state);
  return 'merged';
}

function write(
  state: MemoryState,
  slot: number,
  { record, rootId, shortened, cause }: KeptTask,
  heardAt: number,
): void {
  const { tables, workers, revisions } = state;
  const { records, redaction, roots, open, eviction } = tables;
  if (record.rootId === null && rootId !== null) roots.setFormer(slot, shared(records, rootId));
  const isSenders = (field: TaskTextField): boolean => !shortened.includes(field);
  tables.write(
    slot,
    shortened.length === 0 ? record : { ...record, truncated: record.truncated.filter(isSenders) },
    // Its texts have no secrets, and are not redacted again.
    cause === undefined ? causeOfRecord(record, lifeOf(record.entries, record.runtime), shortened) : cause,
  );
  for (const field of shortened) markShortened(records, slot, field);
  redaction.mark(slot);
  open.absorbed(slot, heardAt);
  eviction.absorbed(slot, heardAt);
  revisions.tasks++;
  // The worker gets as much time as any other to send a message before its tasks count as lost.
  const worker = records.worker[slot] as number;
  if (worker === 0 || isDone(records.states.text(records.state[slot] as number))) return;
  if (workers.mention(records.workers.text(worker))) revisions.workers++;
}

/** @returns a task as it is kept beyond memory; it must not be changed */
function readKept({ records, redaction }: Tables, slot: number): KeptTask {
  const record = redaction.record(slot);
  const rootId = record.rootId ?? records.roots[slot] ?? null;
  return keptOf(record, rootId, shortenedIn(records, slot, record), foundCause(records, slot));
}

/** The cause found in texts of which memory may now keep only the beginning. @returns `undefined`: not searched yet */
function foundCause({ facts, causes, cause }: Records, slot: number): TaskCause | null | undefined {
  return ((facts[slot] as number) & FACT.CAUSE_FOUND) === 0 ? undefined : causes.read(cause[slot] as number);
}

/** @param cut texts of which memory keeps only the beginning */
function keptOf(
  record: TaskRecord,
  rootId: string | null,
  cut: readonly TaskTextField[],
  cause: TaskCause | null | undefined,
): KeptTask {
  const shortened = cut.filter((field) => !record.truncated.includes(field));
  return {
    record: shortened.length === 0 ? record : { ...record, truncated: [...record.truncated, ...shortened] },
    rootId,
    shortened,
    ...(cause !== undefined && { cause }),
  };
}
