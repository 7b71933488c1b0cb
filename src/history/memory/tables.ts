import { createCauseFinder } from '../../causes/find-cause.ts';
import type { TaskCause } from '../../model.ts';
import { createRedactor, type Redactor } from '../../redact.ts';
import { createRows, type Rows } from '../answers/rows.ts';
import type { FlagContext } from '../answers/task-flags.ts';
import { createTaskList } from '../answers/task-list.ts';
import { createEviction } from '../index/eviction.ts';
import { createOpenTasks, type OpenTasks } from '../index/open-tasks.ts';
import { createRepeatedTasks, type RepeatedTasks } from '../index/repeated-tasks.ts';
import { createRoots } from '../index/roots.ts';
import { createTaskIndex, type TaskIndex } from '../index/task-index.ts';
import type { MutableRecord, TaskRecord } from '../merge/record.ts';
import type { Retention } from '../retention.ts';
import { writeRecord } from '../table/record-table.ts';
import { createRecords, releaseHeld } from '../table/records.ts';
import { createTableRedaction } from '../table/redaction.ts';
import { createRelationStore } from '../table/relation-store.ts';
import type { HistoryTap } from './tap.ts';
import { type RelatedTables, relate } from './write-relatives.ts';

/** Maximum number of relations, per task that may be in memory. */
const RELATIONS_PER_TASK = 2;
/** Part of the bytes that relations may take. */
const RELATIONS_SHARE = 1 / 4;

/** All tables and indexes of tasks, assembled. */
export type Tables = ReturnType<typeof createTables>;

/**
 * @param clock milliseconds
 * @param flags what flags depend on besides the tasks
 * @param redactor removes secrets from texts before they are shown or searched; `null`: they stay as they are
 * @param beside bytes of other data that counts towards the bound of the tasks
 * @param tap is called for changed and dropped tasks; `null`: none
 */
export function createTables(
  retention: Retention,
  clock: () => number,
  flags: FlagContext,
  redactor: Redactor | null,
  beside: () => number,
  tap: Pick<HistoryTap, 'taskChanged' | 'taskDropping' | 'isUnwritten'> | null,
) {
  const records = createRecords(retention.maxValueBytes, retention.maxValueLength);
  // Placeholders could hide parts of secrets from a router's rules.
  const index = createTaskIndex(records, clock, createCauseFinder((redactor ?? createRedactor()).text));
  const redaction = createTableRedaction(records, redactor);
  const rows = createRows(records, redaction, flags);
  const open = createOpenTasks(records);
  const relations = createRelationStore(
    retention.maxTasks * RELATIONS_PER_TASK,
    retention.maxBytes * RELATIONS_SHARE,
  );
  /** Data derived from other tasks has changed. */
  const changed = (slot: number): void => {
    rows.forget(slot);
    tap?.taskChanged(records.ids[slot] as string);
  };
  const roots = createRoots(records, index, relations, changed);
  const related = { records, index, roots, changed };
  const packing = createPacking({ related, rows, open, tap, heardOf: (slot) => eviction.heardOf(slot) });
  const isKnown = (id: string): boolean => records.slots.has(id);
  const eviction = createEviction({
    records,
    index,
    retention,
    clock,
    beside: () => relations.bytes() + relativeBytes(index) + beside(),
    packHeld: packing.packHeld,
    isUnwritten: (slot) => tap?.isUnwritten(records.ids[slot] as string) === true,
    dropping(slot) {
      tap?.taskDropping(records.ids[slot] as string);
    },
    dropped(slot) {
      rows.forget(slot);
      open.remove(slot);
      const id = records.ids[slot] as string;
      if (relations.has(id)) relations.release(id, isKnown);
    },
  });
  const list = createTaskList({ records, index, rows, catchUp: packing.catchUp });
  return { records, redaction, rows, open, relations, eviction, index, roots, list, ...packing };
}

/** Estimate of the memory of the ids of relatives. */
function relativeBytes({ roots, byParent, byGroup, byChord }: TaskIndex): number {
  return roots.bytes + byParent.bytes + byGroup.bytes + byChord.bytes;
}

/** What changes with a record. */
interface PackingContext {
  readonly related: RelatedTables & { readonly index: TaskIndex };
  readonly rows: Rows;
  readonly open: OpenTasks;
  /** Called with changed tasks; `null`: none. */
  readonly tap: Pick<HistoryTap, 'taskChanged'> | null;
  /** Called with each task that has changed. */
  heardOf(slot: number): void;
}

/** Packs records. */
export interface Packing {
  readonly repeated: Pick<RepeatedTasks, 'list'>;
  /**
   * Writes a record into the table, and updates its indexes.
   *
   * @param cause of its failure, as found earlier. Default: derived from its texts
   */
  write(slot: number, record: TaskRecord, cause?: TaskCause | null): void;
  /** Packs a task that has changed since. @returns whether it has */
  packHeld(slot: number): boolean;
  /** Packs all records that have changed. */
  catchUp(): void;
  /** Packs the half that changed first. Most of the others will soon change again. */
  packOldest(): void;
}

/** @param context is changed by what is packed */
function createPacking({ related, rows, open, tap, heardOf }: PackingContext): Packing {
  const { records, index } = related;
  const repeated = createRepeatedTasks();

  function write(slot: number, record: TaskRecord, cause?: TaskCause | null): void {
    writeRecord(records, slot, record);
    relate(related, slot, record);
    index.update(slot, record, cause);
    repeated.note(record);
    rows.forget(slot);
  }

  function pack(slot: number, record: MutableRecord): void {
    write(slot, record);
    open.settle(slot);
    heardOf(slot);
    tap?.taskChanged(records.ids[slot] as string);
  }

  return {
    repeated,
    write,
    packHeld(slot) {
      const record = records.held.records.get(slot);
      if (record === undefined) return false;
      pack(slot, record);
      return records.held.records.delete(slot);
    },
    catchUp: () => releaseHeld(records.held, 0, pack),
    packOldest: () => releaseHeld(records.held, records.held.records.size >> 1, pack),
  };
}
