/**
 * The tasks as columns: typed arrays hold what every task has (about 60 bytes a task), a map holds what few tasks have.
 * A task is a row number, its "slot", which is reused after the task was dropped.
 */
import { TASK_STATES } from '../../model.ts';
import { type MutableRecord, progressSize } from '../merge/record.ts';
import type { RareField } from '../merge/record-fields.ts';
import { createEntryTable, type EntryTable, releaseEntries } from './entry-table.ts';
import {
  type CauseTable,
  createCauseTable,
  createInternedStrings,
  type InternedStrings,
} from './interned-strings.ts';
import { createValueStore, type Text, type ValueStore } from './values.ts';

/** Data that only some tasks have. */
export type Extra = Pick<MutableRecord, RareField | 'groupId' | 'chordId' | 'truncated'> & {
  exception: Text | null;
  traceback: Text | null;
};

/** Bits of {@link Records.facts}: what is true of a task. */
export const FACT = {
  /** A message reported that the task has no parent. */
  NO_PARENT: 1,
  /** The root follows from the parent's. */
  ROOT_DERIVED: 2,
  /** In no queue and on no worker; if a worker had taken it, its end was not observed. */
  MISSING: 4,
  /** The secrets were removed from the text. */
  ARGS_REDACTED: 8,
  KWARGS_REDACTED: 16,
  RESULT_REDACTED: 32,
  EXCEPTION_REDACTED: 64,
  TRACEBACK_REDACTED: 128,
  /** The cause of its failure was searched in its texts. */
  CAUSE_FOUND: 256,
} as const;

/** Bytes of a task without its texts: columns, indexes, maps, four timeline entries. Measured by the benchmark. */
export const BYTES_PER_TASK = 400;

/** The columns. Arrays are replaced as they grow: read them from here each time. */
export interface Records {
  readonly entries: EntryTable;
  readonly values: ValueStore;
  readonly states: InternedStrings;
  readonly names: InternedStrings;
  readonly workers: InternedStrings;
  readonly queues: InternedStrings;
  readonly causes: CauseTable;
  readonly slots: Map<string, number>;
  readonly extras: Map<number, Extra>;
  /** The records of tasks that have changed since they were last packed: newer than the columns. */
  readonly held: HeldRecords;
  readonly ids: string[];
  readonly args: (Text | null)[];
  readonly kwargs: (Text | null)[];
  readonly results: (Text | null)[];
  readonly parents: (string | null)[];
  readonly roots: (string | null)[];
  /** The first entry of each task. */
  heads: Uint32Array;
  /** The ranks of the values, packed by `record-table.ts`. */
  ranks: Uint32Array;
  facts: Uint16Array;
  runtimes: Float64Array;
  /** As indexed, like name, worker, queue and timestamp. */
  state: Uint32Array;
  name: Uint32Array;
  worker: Uint32Array;
  queue: Uint32Array;
  cause: Uint32Array;
  timestamp: Float64Array;
  indexed: Uint8Array;
  /** Slots used so far, and those of them that are free again. */
  used: number;
  readonly free: number[];
  /** Bytes of all texts but the large ones. */
  textBytes: number;
}

/** @param maxValueBytes and maxValueLength as in the retention options */
export function createRecords(maxValueBytes: number, maxValueLength: number): Records {
  const states = createInternedStrings();
  // Referenced for ever, so that their numbers never change.
  for (const state of TASK_STATES) states.retain(states.intern(state));
  const workers = createInternedStrings();
  const capacity = 1024;
  return {
    entries: createEntryTable(workers, states),
    values: createValueStore(maxValueBytes, maxValueLength),
    states,
    names: createInternedStrings(),
    workers,
    queues: createInternedStrings(),
    causes: createCauseTable(),
    slots: new Map(),
    extras: new Map(),
    held: createHeldRecords(),
    ids: [],
    args: [],
    kwargs: [],
    results: [],
    parents: [],
    roots: [],
    heads: new Uint32Array(capacity),
    ranks: new Uint32Array(capacity),
    facts: new Uint16Array(capacity),
    runtimes: new Float64Array(capacity),
    state: new Uint32Array(capacity),
    name: new Uint32Array(capacity),
    worker: new Uint32Array(capacity),
    queue: new Uint32Array(capacity),
    cause: new Uint32Array(capacity),
    timestamp: new Float64Array(capacity),
    indexed: new Uint8Array(capacity),
    used: 0,
    free: [],
    textBytes: 0,
  };
}

/** @returns a slot for a new id */
export function allocateSlot(records: Records, id: string): number {
  const slot = records.free.pop() ?? nextSlot(records);
  records.ids[slot] = id;
  records.args[slot] = null;
  records.kwargs[slot] = null;
  records.results[slot] = null;
  records.parents[slot] = null;
  records.roots[slot] = null;
  records.runtimes[slot] = Number.NaN;
  records.timestamp[slot] = Number.NaN;
  records.slots.set(id, slot);
  return slot;
}

/** Whether a task is in no queue and on no worker. */
export function isMissing(records: Records, slot: number): boolean {
  return ((records.facts[slot] as number) & FACT.MISSING) !== 0;
}

/** Frees a slot that no index holds any more. */
export function freeSlot(records: Records, slot: number): void {
  releaseEntries(records.entries, records.heads[slot] as number);
  for (const column of [records.args, records.kwargs, records.results]) {
    dropText(records, column[slot] ?? null);
    column[slot] = null;
  }
  const extra = records.extras.get(slot);
  if (extra !== undefined) {
    dropText(records, extra.exception);
    dropText(records, extra.traceback);
    records.textBytes -= extraBytes(extra);
    records.extras.delete(slot);
  }
  records.slots.delete(records.ids[slot] as string);
  records.ids[slot] = '';
  records.parents[slot] = null;
  records.roots[slot] = null;
  records.heads[slot] = 0;
  records.ranks[slot] = 0;
  records.facts[slot] = 0;
  records.state[slot] = 0;
  records.name[slot] = 0;
  records.worker[slot] = 0;
  records.queue[slot] = 0;
  records.cause[slot] = 0;
  records.indexed[slot] = 0;
  records.free.push(slot);
}

const NOT_TRUNCATED: Extra['truncated'] = [];

/** @returns the data that only some tasks have, to be changed */
export function extraOf(records: Records, slot: number): Extra {
  let extra = records.extras.get(slot);
  if (extra === undefined) {
    extra = {
      eta: null,
      expires: null,
      kind: null,
      stamps: null,
      timeLimits: null,
      traceId: null,
      progress: null,
      groupId: null,
      chordId: null,
      exception: null,
      traceback: null,
      truncated: NOT_TRUNCATED,
    };
    records.extras.set(slot, extra);
  }
  return extra;
}

function nextSlot(records: Records): number {
  if (records.used === records.heads.length) grow(records);
  return records.used++;
}

function grow(records: Records): void {
  const capacity = Math.ceil(records.used * 1.5);
  records.heads = widen(records.heads, new Uint32Array(capacity));
  records.ranks = widen(records.ranks, new Uint32Array(capacity));
  records.facts = widen(records.facts, new Uint16Array(capacity));
  records.runtimes = widen(records.runtimes, new Float64Array(capacity));
  records.state = widen(records.state, new Uint32Array(capacity));
  records.name = widen(records.name, new Uint32Array(capacity));
  records.worker = widen(records.worker, new Uint32Array(capacity));
  records.queue = widen(records.queue, new Uint32Array(capacity));
  records.cause = widen(records.cause, new Uint32Array(capacity));
  records.timestamp = widen(records.timestamp, new Float64Array(capacity));
  records.indexed = widen(records.indexed, new Uint8Array(capacity));
}

function dropText(records: Records, text: Text | null): void {
  records.textBytes -= inlineBytes(text);
  records.values.drop(text);
}

/** Bytes of data that only some tasks have, without texts. */
export function extraBytes({ stamps, progress }: Pick<Extra, 'stamps' | 'progress'>): number {
  return (stamps?.size ?? 0) + progressSize(progress);
}

/** Bytes of a short text, or of what a large value takes outside the store of values. */
export function inlineBytes(text: Text | null): number {
  if (text === null) return 0;
  return typeof text === 'string' ? text.length + 16 : text.head.length + 96;
}

function widen<T extends Float64Array | Uint32Array | Uint16Array | Uint8Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}

/** Most records that are held. With more, they no longer fit into the processor's cache. */
const MAX_HELD = 192;
/** Most bytes that messages may add to held records, estimated, before some of these are packed. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The changed records. */
export type HeldRecords = ReturnType<typeof createHeldRecords>;

/** @returns no records */
function createHeldRecords() {
  return {
    /** By slot, in the order in which they first changed. */
    records: new Map() /** Estimate. */,
    bytes: 0,
  };
}

/**
 * Holds a record that has changed.
 *
 * @param bytes by which it has grown, about
 */
export function holdRecord(held: HeldRecords, slot: number, record: MutableRecord, bytes: number): void {
  held.bytes += bytes;
  held.records.set(slot, record);
}

/** Whether some of the held records must be packed before another message is merged. */
export function isFull({ records, bytes }: HeldRecords): boolean {
  return records.size >= MAX_HELD || bytes >= MAX_BYTES;
}

/**
 * Passes on held records and releases them, those that have been held for longest first.
 *
 * @param keep how many stay
 */
export function releaseHeld(
  held: HeldRecords,
  keep: number,
  pack: (slot: number, record: MutableRecord) => void,
): void {
  const { records } = held;
  if (records.size > 0) held.bytes *= keep / records.size;
  for (const [slot, record] of records) {
    if (records.size <= keep) return;
    pack(slot, record);
    records.delete(slot);
  }
}
