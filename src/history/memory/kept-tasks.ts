/** Absorbs tasks that an earlier process or another instance has stored. */
import { isDone, type TaskCause, type TaskTextField } from '../../model.ts';
import { isName } from '../changes.ts';
import { lifeOf } from '../merge/life.ts';
import { applyRelations, applyStep, type RecordStep } from '../merge/merge.ts';
import { copyRecord, type TaskRecord } from '../merge/record.ts';
import { causeOfRecord } from '../merge/task.ts';
import { allocateSlot, FACT, type Records } from '../table/records.ts';
import { markShortened, shortenedIn } from '../table/redaction.ts';
import { evict, type MemoryState } from './memory-state.ts';
import { canvasOf, shared, type Tables } from './tables.ts';
import type { AbsorbedTask, KeptTask } from './tap.ts';

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
export function readKept({ records, redaction }: Tables, slot: number): KeptTask {
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
