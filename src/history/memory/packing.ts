/** Packs records that have changed into the table, and updates their indexes. */
import type { TaskCause } from '../../model.ts';
import type { Rows } from '../answers/rows.ts';
import type { OpenTasks } from '../index/open-tasks.ts';
import type { TaskIndex } from '../index/task-index.ts';
import type { MutableRecord, TaskRecord } from '../merge/record.ts';
import { writeRecord } from '../table/record-table.ts';
import { releaseHeld } from '../table/records.ts';
import type { HistoryTap } from './tap.ts';
import { type RelatedTables, relate } from './write-relatives.ts';

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
export function createPacking({ related, rows, open, tap, heardOf }: PackingContext): Packing {
  const { records, index } = related;

  function write(slot: number, record: TaskRecord, cause?: TaskCause | null): void {
    writeRecord(records, slot, record);
    relate(related, slot, record);
    index.update(slot, record, cause);
    rows.forget(slot);
  }

  function pack(slot: number, record: MutableRecord): void {
    write(slot, record);
    open.settle(slot);
    heardOf(slot);
    tap?.taskChanged(records.ids[slot] as string);
  }

  return {
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
