import type { Redactor } from '../../redact.ts';
import { createRows } from '../answers/rows.ts';
import type { FlagContext } from '../answers/task-flags.ts';
import { createTaskList } from '../answers/task-list.ts';
import { createEviction } from '../index/eviction.ts';
import { createOpenTasks } from '../index/open-tasks.ts';
import { createRoots } from '../index/roots.ts';
import { createTaskIndex, type TaskIndex } from '../index/task-index.ts';
import type { MutableRecord } from '../merge/record.ts';
import type { Retention } from '../retention.ts';
import { releaseHeld } from '../table/held-records.ts';
import { writeRecord } from '../table/record-table.ts';
import { createRecords } from '../table/records.ts';
import { createTableRedaction } from '../table/redaction.ts';
import { createRelationStore } from '../table/relation-store.ts';
import { relate } from './write-relatives.ts';

/** Most relations for each task that may be held. */
const RELATIONS_PER_TASK = 2;
/** Part of the bytes that relations may take. */
const RELATIONS_SHARE = 1 / 4;

/** Everything that holds tasks, put together. */
export type Tables = ReturnType<typeof createTables>;

/**
 * @param clock milliseconds
 * @param flags what flags depend on beside the tasks
 * @param redactor removes secrets from texts before they are shown or searched; `null`: they stay as they are
 * @param beside bytes of what is held beside the tasks and counts towards their bound
 */
export function createTables(
  retention: Retention,
  clock: () => number,
  flags: FlagContext,
  redactor: Redactor | null,
  beside: () => number,
) {
  const records = createRecords(retention.maxValueBytes, retention.maxValueLength);
  const index = createTaskIndex(records, clock);
  const redaction = createTableRedaction(records, redactor);
  const rows = createRows(records, redaction, flags);
  const open = createOpenTasks(records);
  const relations = createRelationStore(
    retention.maxTasks * RELATIONS_PER_TASK,
    retention.maxBytes * RELATIONS_SHARE,
  );
  const roots = createRoots(records, index, relations, rows.forget);
  const isKnown = (id: string): boolean => records.slots.has(id);
  const eviction = createEviction({
    records,
    index,
    retention,
    clock,
    beside: () => relations.bytes() + relativeBytes(index) + beside(),
    packHeld(slot) {
      const record = records.held.records.get(slot);
      if (record === undefined) return false;
      pack(slot, record);
      return records.held.records.delete(slot);
    },
    dropped(slot) {
      rows.forget(slot);
      open.remove(slot);
      const id = records.ids[slot] as string;
      if (relations.has(id)) relations.release(id, isKnown);
    },
  });
  const related = { records, index, roots, changed: rows.forget };

  /** Packs a record that has changed, and updates its indexes. */
  function pack(slot: number, record: MutableRecord): void {
    writeRecord(records, slot, record);
    relate(related, slot, record);
    index.update(slot, record);
    rows.forget(slot);
    open.settle(slot);
    eviction.heardOf(slot);
  }

  /** Packs all records that have changed. */
  const catchUp = (): void => releaseHeld(records.held, 0, pack);
  /** Packs half of them. The others have changed last, and most of them will soon change again. */
  const packOldest = (): void => releaseHeld(records.held, records.held.records.size >> 1, pack);

  const list = createTaskList({ records, index, rows, catchUp });
  return { records, redaction, rows, open, relations, eviction, index, roots, list, catchUp, packOldest };
}

/** Estimate of the memory of the ids of relatives. */
function relativeBytes({ roots, byParent, byGroup, byChord }: TaskIndex): number {
  return roots.bytes + byParent.bytes + byGroup.bytes + byChord.bytes;
}
