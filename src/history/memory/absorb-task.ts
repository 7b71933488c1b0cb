/** Absorbs tasks that an earlier process or another instance has stored. */
import { isDone, type TaskTextField } from '../../model.ts';
import { lifeOf } from '../merge/life.ts';
import { applyRelations } from '../merge/merge.ts';
import { mergeRecords } from '../merge/merge-records.ts';
import { copyRecord } from '../merge/record.ts';
import { causeOfRecord } from '../merge/record-cause.ts';
import { isSameRecord } from '../merge/record-fields.ts';
import { isName } from '../names.ts';
import { reportedRoot } from '../table/record-table.ts';
import { allocateSlot, type Records } from '../table/records.ts';
import { markShortened } from '../table/redaction.ts';
import { evict, type MemoryState } from './memory-state.ts';
import { readKept } from './read-kept.ts';
import type { AbsorbedTask, KeptTask } from './tap.ts';
import { canvasOf, shared } from './write-relatives.ts';

/**
 * @param heardAt when its last message arrived, milliseconds since 1970
 * @returns see `MemoryAccess.absorbTask`
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
): 'same' | 'merged' {
  const { tables } = state;
  const { records, relations } = tables;
  tables.packHeld(slot);
  const own = readKept(tables, slot);
  const isRootKnown = (records.roots[slot] ?? null) === rootId;
  // As after a restart without a message meanwhile.
  if (isRootKnown && isSameRecord(given, own.record) && !relations.has(given.id)) return 'same';
  const merged = mergeRecords(given, own.record);
  if (relations.has(given.id)) applyRelations(merged, canvasOf(given.id, relations));
  if (!isSameRecord(merged, own.record) || mayTakeRoot(records, slot, rootId)) {
    const isCut = (field: TaskTextField): boolean =>
      (shortened.includes(field) && merged[field] === given[field]) ||
      (own.shortened.includes(field) && merged[field] === own.record[field]);
    const task = {
      record: { ...merged, id: own.record.id },
      rootId,
      shortened: merged.truncated.filter(isCut),
    };
    write(state, slot, task, heardAt);
    evict(state);
  }
  return isSameRecord(merged, given) && (records.roots[slot] ?? null) === rootId ? 'same' : 'merged';
}

function mayTakeRoot(records: Records, slot: number, rootId: string | null): boolean {
  return rootId !== null && records.roots[slot] == null && reportedRoot(records, slot) === null;
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
