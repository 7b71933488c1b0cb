import type { CausesBefore } from '../../causes/cause-groups.ts';
import type { Task, TaskRelation } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { FamilyNames } from '../../select/callers.ts';
import type { TaskFigures } from '../../select/task-figures.ts';
import type { TaskQuery } from '../../source.ts';
import type { MinuteAggregate } from '../aggregate/minute-aggregate.ts';
import type { QueueHistory } from '../aggregate/queue-history.ts';
import { familyNames } from '../answers/rows.ts';
import type { FlagContext } from '../answers/task-flags.ts';
import { childrenOf } from '../answers/workflow.ts';
import type { HistoryReader } from '../history.ts';
import type { MutableRecord } from '../merge/record.ts';
import { readRecord } from '../table/record-table.ts';
import { absorbTask, readKept } from './kept-tasks.ts';
import { causesBefore, isSeenWhole } from './memory-reader.ts';
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

/** A task in memory, as {@link MemoryView.visit} finds it. */
export interface VisitedTask {
  readonly id: string;
  /** What statistics are made of. */
  figures(): TaskFigures;
}

/** A history in memory, as a reader of a store sees it. */
export interface MemoryView {
  /** Answers from memory alone. */
  readonly reader: HistoryReader;
  /** The data on which flags of tasks that are not in memory depend. */
  readonly flags: FlagContext;
  readonly counts: Pick<MinuteAggregate, 'absorb'>;
  /** Whether a worker sends messages. */
  isOnline(hostname: string): boolean;
  /** Whether texts have no secrets. */
  readonly isRedacted: boolean;
  /** A record without secrets. */
  redacted(record: MutableRecord): MutableRecord;
  has(id: string): boolean;
  /** The row of a task as it is now; `null`: the task is not in memory. */
  row(id: string): Task | null;
  /** Ids of the tasks that this one sent, as far as memory knows, in memory or not. */
  children(id: string): readonly string[];
  /** Ids of the tasks in memory that name this id as their parent, group or chord. */
  linked(id: string): readonly string[];
  /** The relations from and to an id that are in memory. */
  relations(id: string): readonly TaskRelation[];
  /** The time of the earliest message of a task, milliseconds since 1970; `null`: the task is not in memory. */
  firstTime(id: string): number | null;
  /** Visits every task that passes the filters but the text. */
  visit(query: TaskQuery, visit: (task: VisitedTask) => void): Steps<void>;
  /** Names of the tasks in memory and of those that they sent. */
  readonly family: FamilyNames;
  /** A day of queues. */
  readonly queues: QueueHistory;
  /** When causes of failures were first seen. */
  readonly causesBefore: CausesBefore;
  /** Whether everything between these times was seen. */
  isWhole(from: number, to: number): boolean;
}

/** @param reader of the same history */
export function createMemoryView(state: MemoryState, reader: HistoryReader): MemoryView {
  const { records, index, relations, rows, list, redaction } = state.tables;
  const slotOf = (id: string): number | undefined => {
    catchUp(state);
    return records.slots.get(id);
  };
  return {
    reader,
    flags: state.flags,
    counts: state.aggregate,
    isOnline: (hostname) => state.workers.isOnline(hostname),
    isRedacted: redaction.isActive,
    redacted: redaction.redacted,
    has: (id) => records.slots.has(id),
    row(id) {
      const slot = slotOf(id);
      return slot === undefined ? null : rows.get(slot);
    },
    children(id) {
      catchUp(state);
      return childrenOf(id, state.tables);
    },
    linked(id) {
      catchUp(state);
      const { byParent, byChord, byGroup } = index;
      const slots = [byParent, byChord, byGroup].flatMap((groups) => [...groups.list(id)]);
      return slots.map((slot) => records.ids[slot] as string);
    },
    relations: (id) => (relations.has(id) ? [...relations.from(id), ...relations.to(id)] : []),
    firstTime(id) {
      const slot = records.slots.get(id);
      if (slot === undefined) return null;
      return readRecord(records, slot).entries.reduce((first, { time }) => Math.min(first, time), Infinity);
    },
    *visit(query, visit) {
      catchUp(state);
      yield* list.visit(query, (slot) =>
        visit({ id: records.ids[slot] as string, figures: () => rows.figures(slot) }),
      );
    },
    family: familyNames(records, index),
    queues: state.aggregate.queues,
    causesBefore: causesBefore(state),
    isWhole: (from, to) => isSeenWhole(state, from, to),
  };
}
