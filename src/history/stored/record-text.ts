/** Records as text, and back. Texts that are long stand apart, so that a list does not read them. */

import type { TaskTextField } from '../../model.ts';
import { isRecord } from '../../values.ts';
import {
  type EntryKind,
  emptyRecord,
  KIND_ORDER,
  type MutableRecord,
  type TaskEntry,
  type TaskRecord,
} from '../merge/record.ts';

/** Longest text that stands in the record itself, in characters. */
export const LONGEST_INLINE = 2_048;

/** The fields with texts. */
export const TEXT_FIELDS: readonly TaskTextField[] = ['args', 'kwargs', 'result', 'exception', 'traceback'];
const TIME_SOURCES = ['sender', 'arrival', 'reading'] as const;
const KINDS = Object.keys(KIND_ORDER) as EntryKind[];

/** A record as it is stored. */
export interface RecordText {
  readonly record: string;
  /** The whole texts of which the record has the beginning only; `null`: it has all of them. */
  readonly texts: string | null;
}

/** @param record whose texts have no secrets */
export function writeRecordText(record: TaskRecord): RecordText {
  const { id: _, entries, ranks, ...fields } = record;
  const known: Record<string, unknown> = {};
  const long: Record<string, string> = {};
  for (const [field, value] of Object.entries(fields)) {
    if (value === null || value === false || (Array.isArray(value) && value.length === 0)) continue;
    known[field] = value;
  }
  for (const field of TEXT_FIELDS) {
    const text = record[field];
    if (text === null || text.length <= LONGEST_INLINE) continue;
    known[field] = text.slice(0, LONGEST_INLINE);
    long[field] = text;
  }
  const text = { ...known, entries: entries.map(writeEntry), ranks: Object.values(ranks) };
  return {
    record: JSON.stringify(text, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
    texts: Object.keys(long).length === 0 ? null : JSON.stringify(long),
  };
}

/**
 * @param texts `null` also where they were not read: long texts are cut then
 * @returns `null` for a text of another version
 */
export function readRecordText(id: string, record: string, texts: string | null): MutableRecord | null {
  const known: unknown = parse(record);
  if (!isRecord(known) || !Array.isArray(known.entries) || !Array.isArray(known.ranks)) return null;
  const { entries, ranks, ...fields } = known;
  const read = emptyRecord(id);
  const long: unknown = texts === null ? {} : parse(texts);
  Object.assign(read, fields, isRecord(long) ? long : {});
  for (const [at, name] of RANK_NAMES.entries()) {
    const rank: unknown = ranks[at];
    read.ranks[name] = typeof rank === 'number' ? rank : 0;
  }
  for (const entry of entries) if (Array.isArray(entry)) read.entries.push(readEntry(entry));
  return read;
}

const RANK_NAMES = Object.keys(emptyRecord('').ranks) as (keyof TaskRecord['ranks'])[];

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Most of what is stored are entries: an array takes a third of an object. */
function writeEntry(entry: TaskEntry): unknown[] {
  const flags =
    (entry.origin === 'result' ? 1 : 0) |
    (entry.isStored ? 2 : 0) |
    (entry.isCounted ? 4 : 0) |
    (TIME_SOURCES.indexOf(entry.timeSource) << 3);
  const row = [
    KIND_ORDER[entry.kind],
    entry.time,
    flags,
    entry.worker,
    entry.retries,
    entry.state,
    entry.detail,
  ];
  while (row.at(-1) === null) row.pop();
  return row;
}

function readEntry(row: readonly unknown[]): TaskEntry {
  const [kind, time, flags, worker = null, retries = null, state = null, detail = null] = row;
  const bits = Number(flags);
  return {
    kind: KINDS[Number(kind)] ?? 'custom',
    time: Number(time),
    origin: (bits & 1) === 0 ? 'event' : 'result',
    isStored: (bits & 2) !== 0,
    isCounted: (bits & 4) !== 0,
    timeSource: TIME_SOURCES[bits >> 3] ?? 'reading',
    worker: textOr(worker),
    retries: typeof retries === 'number' ? retries : null,
    state: textOr(state),
    detail: textOr(detail),
  };
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
