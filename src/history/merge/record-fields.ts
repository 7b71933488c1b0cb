/**
 * The fields of a record. What is kept, merged and stored of a task follows from this table; `precedence.ts`
 * decides which message sets a field.
 */
import { isTraceId, type SentWith, type TimeLimits } from '../../model.ts';
import { isRecord, isTime } from '../../values.ts';
import type { Field } from './precedence.ts';
import { keepStamps, type MutableRecord, PROGRESS_TEXT, STAMPS_TEXT, type TaskRecord } from './record.ts';

/** A field of a record that has a row in the table. */
export type RecordField = Exclude<keyof TaskRecord, 'id' | 'entries' | 'ranks' | 'truncated'>;

/** How a value is kept in the text that a store has of a task. */
export interface TextForm<Value> {
  /** @returns what JSON keeps. Default: the value itself */
  write?(value: Value): unknown;
  /** @returns `null` if this is not what was written */
  read(written: unknown): Value | null;
}

/** What there is to know about a field. */
interface FieldRow<Value> {
  /**
   * Who sets it.
   * - a row of `PRECEDENCE`: messages, by that row; a header of the task's message, too
   * - `end`: the messages that end an attempt
   * - `own`: a rule of its own
   */
  readonly by: Field | 'end' | 'own';
  readonly text: TextForm<NonNullable<Value>>;
  /** Few tasks have it: it takes no column of the table in memory. */
  readonly isRare?: true;
  /** Only the page of a task shows it. */
  readonly isDetail?: true;
  /** What is kept of a given value; `null`: nothing. Default: the value. */
  keep?(given: unknown): Value;
}

const STRING: TextForm<string> = { read: (written) => (typeof written === 'string' ? written : null) };
const NUMBER: TextForm<number> = { read: (written) => (isTime(written) ? written : null) };
const FLAG: TextForm<boolean> = { read: (written) => (written === true ? true : null) };

function readTimeLimits(written: unknown): TimeLimits | null {
  if (!isRecord(written)) return null;
  const [soft, hard] = [written.soft, written.hard].map((limit) => (isTime(limit) ? limit : null));
  return { soft: soft ?? null, hard: hard ?? null };
}

const RECORD_FIELDS = {
  name: { by: 'name', text: STRING },
  queue: { by: 'queue', text: STRING },
  args: { by: 'args', text: STRING },
  kwargs: { by: 'args', text: STRING },
  eta: { by: 'eta', text: NUMBER, isRare: true },
  expires: { by: 'expires', text: NUMBER, isRare: true },
  parentId: { by: 'lineage', text: STRING },
  hasNoParent: { by: 'lineage', text: FLAG },
  rootId: { by: 'lineage', text: STRING },
  groupId: { by: 'group', text: STRING },
  chordId: { by: 'chord', text: STRING },
  kind: {
    by: 'same',
    isRare: true,
    text: {
      read: (written) =>
        written === 'map' || written === 'starmap' || written === 'chunks' ? written : null,
    },
  },
  stamps: {
    by: 'same',
    isRare: true,
    text: STAMPS_TEXT,
    keep: keepStamps,
  },
  timeLimits: { by: 'same', isRare: true, isDetail: true, text: { read: readTimeLimits } },
  traceId: {
    by: 'same',
    isRare: true,
    isDetail: true,
    text: { read: (written) => (isTraceId(written) ? written : null) },
  },
  progress: { by: 'own', isRare: true, text: PROGRESS_TEXT },
  result: { by: 'end', text: STRING },
  exception: { by: 'end', text: STRING },
  traceback: { by: 'end', text: STRING },
  runtime: { by: 'end', text: NUMBER },
  isMissing: { by: 'own', text: FLAG },
} as const satisfies {
  readonly [Name in RecordField]: FieldRow<TaskRecord[Name]> &
    (Name extends keyof SentWith ? { readonly isDetail: true } : { readonly isDetail?: never });
};

type FieldBy<By extends string> = {
  [Name in RecordField]: (typeof RECORD_FIELDS)[Name]['by'] extends By ? Name : never;
}[RecordField];

/** A field of which every message carries the same value. */
export type SameField = FieldBy<'same'>;

/** A field that few tasks have. */
export type RareField = {
  [Name in RecordField]: (typeof RECORD_FIELDS)[Name] extends { readonly isRare: true } ? Name : never;
}[RecordField];

/** The table, for what is alike for all fields. */
export const FIELD_ROWS: Readonly<Record<RecordField, FieldRow<unknown>>> = RECORD_FIELDS;
export const FIELD_NAMES = Object.keys(RECORD_FIELDS) as readonly RecordField[];
export const SAME_FIELDS = FIELD_NAMES.filter(
  (name) => FIELD_ROWS[name].by === 'same',
) as readonly SameField[];
export const RARE_FIELDS = FIELD_NAMES.filter((name) => FIELD_ROWS[name].isRare) as readonly RareField[];

const DETAIL_FIELDS = FIELD_NAMES.filter((name) => FIELD_ROWS[name].isDetail) as readonly (keyof SentWith)[];

/** @returns of a record, or of the header of a message, what only the page of a task shows */
export function sentWith(given: SentWith): SentWith {
  return Object.fromEntries(DETAIL_FIELDS.map((name) => [name, given[name] ?? null]));
}

/** @returns the same task without it, as lists show it */
export function withoutSentWith<Shown extends object>(task: Shown): Omit<Shown, keyof SentWith> {
  const row: Shown & SentWith = { ...task };
  for (const name of DETAIL_FIELDS) delete row[name];
  return row;
}

/** Fields that the header of a task's message can set. */
export const HEADER_FIELDS = FIELD_NAMES.filter((name) => !['end', 'own'].includes(FIELD_ROWS[name].by));

const NOTHING_TRUNCATED: TaskRecord['truncated'] = [];

/** @returns a task of which nothing is known but its id */
export function emptyRecord(id: string): MutableRecord {
  return blankRecord(id, [], {
    name: 0,
    args: 0,
    queue: 0,
    eta: 0,
    lineage: 0,
    group: 0,
    chord: 0,
    result: 0,
    exception: 0,
  });
}

/** The same with entries. A literal: V8 makes such an object ten times as fast as a copy of one made of the table. */
export function blankRecord(
  id: string,
  entries: MutableRecord['entries'],
  ranks: MutableRecord['ranks'],
): MutableRecord {
  return {
    id,
    entries,
    ranks,
    name: null,
    queue: null,
    args: null,
    kwargs: null,
    eta: null,
    expires: null,
    parentId: null,
    hasNoParent: false,
    rootId: null,
    groupId: null,
    chordId: null,
    kind: null,
    stamps: null,
    traceId: null,
    timeLimits: null,
    progress: null,
    result: null,
    exception: null,
    traceback: null,
    runtime: null,
    truncated: NOTHING_TRUNCATED,
    isMissing: false,
  };
}
