/**
 * The tasks, as columns: what every task has lies in typed arrays (about 60 bytes a task), what few
 * have lies in a side table. A task is a row number, its "slot", which is used again after it is gone.
 */
import { TASK_STATES, type TaskTextField } from '../../model.ts';
import type { TaskRecord } from '../merge/record.ts';
import type { Stamps } from '../merge/stamps.ts';
import { createEntryTable, type EntryTable, releaseEntries } from './entry-table.ts';
import { createLabels, type Labels } from './labels.ts';

import { createValueStore, type Text, type ValueStore } from './values.ts';

/** What only some tasks have. Times in milliseconds. */
export interface Extra {
  exception: Text | null;
  traceback: Text | null;
  eta: number | null;
  expires: number | null;
  groupId: string | null;
  chordId: string | null;
  kind: 'map' | 'starmap' | 'chunks' | null;
  stamps: Stamps | null;
  truncated: readonly TaskTextField[];
}

/** Bits of {@link Records.facts}: what is true of a task. */
export const FACT = {
  /** A message said that the task has no parent. */
  NO_PARENT: 1,
  /** The root follows from the parent's. */
  ROOT_DERIVED: 2,
  /** In no queue and on no worker. */
  MISSING: 4,
} as const;

/** Bytes of a task without its texts: columns, indexes, maps, four timeline entries. Measured by the benchmark. */
export const BYTES_PER_TASK = 400;

/** Most text of a record that is held unpacked, in characters. */
const MAX_UNPACKED_TEXT = 1024;

/** The columns. Arrays are replaced as they grow: read them from here each time. */
export interface Records {
  readonly entries: EntryTable;
  readonly values: ValueStore;
  readonly states: Labels;
  readonly names: Labels;
  readonly workers: Labels;
  readonly queues: Labels;
  readonly slots: Map<string, number>;
  readonly extras: Map<number, Extra>;
  /** The records that changed last, unpacked. */
  readonly unpacked: Map<number, TaskRecord>;
  /** Most text of such a record, in characters, so that none of its texts is cut. */
  readonly maxUnpackedText: number;
  readonly ids: string[];
  readonly args: (Text | null)[];
  readonly kwargs: (Text | null)[];
  readonly results: (Text | null)[];
  readonly parents: (string | null)[];
  readonly roots: (string | null)[];
  /** First timeline entry. */
  heads: Uint32Array;
  /** Who reported the values, packed by `record-table.ts`. */
  ranks: Uint32Array;
  facts: Uint8Array;
  runtimes: Float64Array;
  /** As the indexes have it: what was told since stands in {@link Records.waiting}. */
  state: Uint32Array;
  name: Uint32Array;
  worker: Uint32Array;
  queue: Uint32Array;
  timestamp: Float64Array;
  /** Place in the list of tasks whose indexes are behind, plus one; 0 when they are current. */
  waiting: Uint32Array;
  indexed: Uint8Array;
  /** Bytes of all texts but the large ones. */
  textBytes: number;
  /** Gives a slot to a new id. */
  allocate(id: string): number;
  /** Frees a slot whose indexes have let go of it. */
  free(slot: number): void;
  extra(slot: number): Extra;
}

/** @param maxValueBytes and maxValueLength as in the retention options */
export function createRecords(maxValueBytes: number, maxValueLength: number): Records {
  const states = createLabels();
  // Held for ever, so that their numbers never change.
  for (const state of TASK_STATES) states.retain(states.intern(state));
  let capacity = 1024;
  let used = 0;
  const free: number[] = [];
  const workers = createLabels();
  const records: Records = {
    entries: createEntryTable(workers, states),
    values: createValueStore(maxValueBytes, maxValueLength),
    states,
    names: createLabels(),
    workers,
    queues: createLabels(),
    slots: new Map(),
    extras: new Map(),
    unpacked: new Map(),
    maxUnpackedText: Math.min(MAX_UNPACKED_TEXT, maxValueLength),
    ids: [],
    args: [],
    kwargs: [],
    results: [],
    parents: [],
    roots: [],
    heads: new Uint32Array(capacity),
    ranks: new Uint32Array(capacity),
    facts: new Uint8Array(capacity),
    runtimes: new Float64Array(capacity),
    state: new Uint32Array(capacity),
    name: new Uint32Array(capacity),
    worker: new Uint32Array(capacity),
    queue: new Uint32Array(capacity),
    timestamp: new Float64Array(capacity),
    waiting: new Uint32Array(capacity),
    indexed: new Uint8Array(capacity),
    textBytes: 0,
    allocate,
    free: release,
    extra,
  };
  return records;

  function allocate(id: string): number {
    let slot = free.pop();
    if (slot === undefined) {
      if (used === capacity) grow();
      slot = used++;
    }
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

  function release(slot: number): void {
    releaseEntries(records.entries, records.heads[slot] as number);
    for (const column of [records.args, records.kwargs, records.results]) {
      records.textBytes -= inlineBytes(column[slot] ?? null);
      records.values.drop(column[slot] ?? null);
      column[slot] = null;
    }
    const more = records.extras.get(slot);
    if (more !== undefined) {
      for (const text of [more.exception, more.traceback]) {
        records.textBytes -= inlineBytes(text);
        records.values.drop(text);
      }
      records.textBytes -= more.stamps?.size ?? 0;
      records.extras.delete(slot);
    }
    records.unpacked.delete(slot);
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
    records.waiting[slot] = 0;
    records.indexed[slot] = 0;
    free.push(slot);
  }

  function grow(): void {
    capacity = Math.ceil(capacity * 1.5);
    records.heads = widen(records.heads, new Uint32Array(capacity));
    records.ranks = widen(records.ranks, new Uint32Array(capacity));
    records.facts = widen(records.facts, new Uint8Array(capacity));
    records.runtimes = widen(records.runtimes, new Float64Array(capacity));
    records.state = widen(records.state, new Uint32Array(capacity));
    records.name = widen(records.name, new Uint32Array(capacity));
    records.worker = widen(records.worker, new Uint32Array(capacity));
    records.queue = widen(records.queue, new Uint32Array(capacity));
    records.timestamp = widen(records.timestamp, new Float64Array(capacity));
    records.waiting = widen(records.waiting, new Uint32Array(capacity));
    records.indexed = widen(records.indexed, new Uint8Array(capacity));
  }

  function extra(slot: number): Extra {
    let more = records.extras.get(slot);
    if (more === undefined) {
      more = {
        exception: null,
        traceback: null,
        eta: null,
        expires: null,
        groupId: null,
        chordId: null,
        kind: null,
        stamps: null,
        truncated: [],
      };
      records.extras.set(slot, more);
    }
    return more;
  }
}

/** Bytes of a text that is not in the store of large values; of those, what they leave behind. */
export function inlineBytes(text: Text | null): number {
  if (text === null) return 0;
  return typeof text === 'string' ? text.length + 16 : text.head.length + 96;
}

function widen<T extends Float64Array | Uint32Array | Uint8Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}
