/** Takes in tasks that were kept, by an earlier process or by another instance. */
import { isDone } from '../../model.ts';
import { lifeOf } from '../merge/life.ts';
import { applyRelations } from '../merge/merge.ts';
import { isSameRecord, mergeRecords } from '../merge/merge-records.ts';
import { copyRecord, type MutableRecord } from '../merge/record.ts';
import { isName } from '../names.ts';
import { reportedRoot } from '../table/record-table.ts';
import { allocateSlot, type Records } from '../table/records.ts';
import { evict, type MemoryState } from './memory-state.ts';
import type { KeptTask } from './tap.ts';
import { canvasOf, shared } from './write-relatives.ts';

/** A task without secrets, and its root. */
export type AbsorbedTask = Pick<KeptTask, 'record' | 'rootId'>;

/**
 * @param heardAt when the task was last heard of, milliseconds since 1970
 * @returns what `MemoryAccess.absorbTask` says
 */
export function absorbTask(
  state: MemoryState,
  task: AbsorbedTask,
  heardAt: number,
): 'same' | 'merged' | 'refused' {
  const { tables, isClosed } = state;
  const { id } = task.record;
  if (isClosed || !isName(id)) return 'refused';
  const slot = tables.records.slots.get(id);
  return slot === undefined ? addTask(state, task, heardAt) : mergeTask(state, slot, task, heardAt);
}

function addTask(
  state: MemoryState,
  { record, rootId }: AbsorbedTask,
  heardAt: number,
): 'same' | 'merged' | 'refused' {
  const { records, eviction, relations } = state.tables;
  const timestamp = (): number | null => lifeOf(record.entries, record.runtime).timestamp;
  if (!eviction.takesIn(timestamp, heardAt)) return 'refused';
  const slot = allocateSlot(records, record.id);
  const own = relations.has(record.id) ? copyRecord(record) : null;
  const isRelated = own !== null && applyRelations(own, canvasOf(record.id, relations));
  write(state, slot, own ?? record, rootId, heardAt);
  evict(state);
  if (records.slots.get(record.id) !== slot) return 'refused';
  return isRelated || (records.roots[slot] ?? null) !== rootId ? 'merged' : 'same';
}

function mergeTask(
  state: MemoryState,
  slot: number,
  { record, rootId }: AbsorbedTask,
  heardAt: number,
): 'same' | 'merged' {
  const { tables } = state;
  const { records, redaction, relations } = tables;
  tables.packHeld(slot);
  const own = redaction.record(slot);
  const merged = mergeRecords(record, own);
  if (relations.has(record.id)) applyRelations(merged, canvasOf(record.id, relations));
  if (!isSameRecord(merged, own) || mayTakeRoot(records, slot, rootId)) {
    write(state, slot, { ...merged, id: own.id }, rootId, heardAt);
    evict(state);
  }
  return isSameRecord(merged, record) && (records.roots[slot] ?? null) === rootId ? 'same' : 'merged';
}

function mayTakeRoot(records: Records, slot: number, rootId: string | null): boolean {
  return rootId !== null && records.roots[slot] == null && reportedRoot(records, slot) === null;
}

function write(
  state: MemoryState,
  slot: number,
  record: MutableRecord | KeptTask['record'],
  rootId: string | null,
  heardAt: number,
): void {
  const { tables, workers, revisions } = state;
  const { records, redaction, roots, open, eviction } = tables;
  if (record.rootId === null && rootId !== null) roots.setFormer(slot, shared(records, rootId));
  tables.write(slot, record);
  redaction.mark(slot);
  open.absorbed(slot, heardAt);
  eviction.absorbed(slot, heardAt);
  revisions.tasks++;
  // So that it gets as long as any worker to be heard before its tasks count as lost.
  const worker = records.worker[slot] as number;
  if (worker === 0 || isDone(records.states.text(records.state[slot] as number))) return;
  if (workers.mention(records.workers.text(worker))) revisions.workers++;
}
