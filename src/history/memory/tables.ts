import { createCauseFinder } from '../../causes/find-cause.ts';
import { createRedactor, type Redactor } from '../../redact.ts';
import { createRows } from '../answers/rows.ts';
import type { FlagContext } from '../answers/task-flags.ts';
import { createTaskList } from '../answers/task-list.ts';
import { createEviction } from '../index/eviction.ts';
import { createOpenTasks } from '../index/open-tasks.ts';
import { createRoots } from '../index/roots.ts';
import { createTaskIndex, type TaskIndex } from '../index/task-index.ts';
import type { Retention } from '../retention.ts';
import { createRecords } from '../table/records.ts';
import { createTableRedaction } from '../table/redaction.ts';
import { createRelationStore } from '../table/relation-store.ts';
import { createPacking } from './packing.ts';
import type { HistoryTap } from './tap.ts';

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
