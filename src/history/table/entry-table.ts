/**
 * The entries of all tasks: chains in shared typed arrays, about 24 bytes an entry. Entry 0 is none, and
 * ends a chain.
 */
import { type EntryKind, KIND_ORDER, type TaskEntry } from '../merge/record.ts';
import type { InternedStrings } from './interned-strings.ts';

const KINDS = Object.keys(KIND_ORDER) as EntryKind[];
const TIME_SOURCES = ['sender', 'arrival', 'reading'] as const;

// Packed into one number: the kind, four flags, the source of the time, the number of retries.
const KIND_BITS = 0xf;
const FROM_RESULT = 0x10;
const STORED = 0x20;
const RETRIES_KNOWN = 0x40;
const SOURCE_SHIFT = 7;
const SOURCE_BITS = 0x3;
const RETRIES_COUNTED = 0x200;
const RETRIES_SHIFT = 10;
const MAX_RETRIES = 0x3fffff;

/** The columns. Arrays are replaced as they grow. */
export type EntryTable = ReturnType<typeof createEntryTable>;

/** @returns an empty table */
export function createEntryTable(workerStrings: InternedStrings, stateStrings: InternedStrings) {
  const capacity = 1024;
  return {
    times: new Float64Array(capacity),
    /** The next entry of the chain, or of the free ones. */
    nexts: new Uint32Array(capacity),
    infos: new Uint32Array(capacity),
    workers: new Uint32Array(capacity),
    /** Of custom entries; 0 for all others. */
    states: new Uint32Array(capacity),
    /** Few entries have one. */
    details: new Map(),
    /** Entries from whose detail the secrets were removed. */
    redactedDetails: new Set(),
    workerStrings,
    stateStrings,
    /** Entries used so far, with entry 0. */
    used: 1,
    /** The first free one; 0: none. */
    free: 0,
  };
}

/** The positions of the entries of a chain. */
export function* entriesAt({ nexts }: EntryTable, head: number): Generator<number, void, void> {
  for (let at = head; at !== 0; at = nexts[at] as number) yield at;
}

/** Whether an entry of a chain is of this kind. */
export function hasKind({ infos, nexts }: EntryTable, head: number, kind: EntryKind): boolean {
  const wanted = KIND_ORDER[kind];
  for (let at = head; at !== 0; at = nexts[at] as number) {
    if (((infos[at] as number) & KIND_BITS) === wanted) return true;
  }
  return false;
}

/** Replaces a detail by the same without secrets. */
export function setRedactedDetail(table: EntryTable, at: number, detail: string): void {
  table.details.set(at, detail);
  table.redactedDetails.add(at);
}

/** @returns the entries of a chain */
export function readEntries(table: EntryTable, head: number): TaskEntry[] {
  const entries: TaskEntry[] = [];
  for (let at = head; at !== 0; at = table.nexts[at] as number) entries.push(readEntry(table, at));
  return entries;
}

function readEntry(table: EntryTable, at: number): TaskEntry {
  const info = table.infos[at] as number;
  const state = table.states[at] as number;
  const worker = table.workers[at] as number;
  return {
    kind: KINDS[info & KIND_BITS] as EntryKind,
    state: state === 0 ? null : table.stateStrings.text(state),
    origin: (info & FROM_RESULT) === 0 ? 'event' : 'result',
    time: table.times[at] as number,
    timeSource: TIME_SOURCES[(info >>> SOURCE_SHIFT) & SOURCE_BITS] as TaskEntry['timeSource'],
    isStored: (info & STORED) !== 0,
    retries: (info & RETRIES_KNOWN) === 0 ? null : info >>> RETRIES_SHIFT,
    isCounted: (info & RETRIES_COUNTED) !== 0,
    worker: worker === 0 ? null : table.workerStrings.text(worker),
    detail: table.details.size === 0 ? null : (table.details.get(at) ?? null),
  };
}

/**
 * Makes a chain hold these entries.
 *
 * @param head the first entry of the chain; 0: there is none yet
 * @returns the first entry
 */
export function writeEntries(table: EntryTable, head: number, entries: readonly TaskEntry[]): number {
  let first = head;
  let last = 0;
  let at = head;
  for (const entry of entries) {
    if (at === 0) {
      at = allocate(table);
      if (last === 0) first = at;
      else table.nexts[last] = at;
      table.nexts[at] = 0;
    }
    writeEntry(table, at, entry);
    last = at;
    at = table.nexts[at] as number;
  }
  return first;
}

/** Frees a chain. */
export function releaseEntries(table: EntryTable, head: number): void {
  let at = head;
  while (at !== 0) {
    const next = table.nexts[at] as number;
    if (table.details.size > 0) deleteDetail(table, at);
    table.workerStrings.release(table.workers[at] as number);
    table.stateStrings.release(table.states[at] as number);
    table.workers[at] = 0;
    table.states[at] = 0;
    table.nexts[at] = table.free;
    table.free = at;
    at = next;
  }
}

function writeEntry(table: EntryTable, at: number, entry: TaskEntry): void {
  setString(table.workerStrings, table.workers, at, entry.worker);
  setString(table.stateStrings, table.states, at, entry.state);
  table.times[at] = entry.time;
  table.infos[at] =
    KIND_ORDER[entry.kind] |
    (entry.origin === 'result' ? FROM_RESULT : 0) |
    (entry.isStored ? STORED : 0) |
    (entry.isCounted ? RETRIES_COUNTED : 0) |
    (sourceNumber(entry.timeSource) << SOURCE_SHIFT) |
    (entry.retries === null ? 0 : RETRIES_KNOWN | (Math.min(entry.retries, MAX_RETRIES) << RETRIES_SHIFT));
  if (entry.detail === null) {
    if (table.details.size > 0) deleteDetail(table, at);
  } else if (table.details.get(at) !== entry.detail) {
    table.details.set(at, entry.detail);
    table.redactedDetails.delete(at);
  }
}

/** Stores the number of a text, which is referenced from then on. */
function setString(strings: InternedStrings, numbers: Uint32Array, at: number, text: string | null): void {
  const old = numbers[at] as number;
  const number = text === null ? 0 : strings.intern(text);
  if (number === old) return;
  numbers[at] = number;
  strings.retain(number);
  strings.release(old);
}

/** The position in {@link TIME_SOURCES}, which is searched for with every entry. */
function sourceNumber(source: TaskEntry['timeSource']): number {
  return source === 'sender' ? 0 : source === 'arrival' ? 1 : 2;
}

function deleteDetail(table: EntryTable, at: number): void {
  table.details.delete(at);
  table.redactedDetails.delete(at);
}

function allocate(table: EntryTable): number {
  if (table.free !== 0) {
    const at = table.free;
    table.free = table.nexts[at] as number;
    return at;
  }
  if (table.used === table.nexts.length) {
    const capacity = Math.ceil(table.used * 1.5);
    table.times = widen(table.times, new Float64Array(capacity));
    table.nexts = widen(table.nexts, new Uint32Array(capacity));
    table.infos = widen(table.infos, new Uint32Array(capacity));
    table.workers = widen(table.workers, new Uint32Array(capacity));
    table.states = widen(table.states, new Uint32Array(capacity));
  }
  return table.used++;
}

function widen<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}
