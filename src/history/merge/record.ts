/**
 * Everything that is known about one task, as plain data: what its messages reported, its progress and Celery's stamps
 * (small plain data that a host puts on its tasks), and the data for merging the next message. `merge.ts` makes records
 * from messages, `life.ts` and `attempts.ts` read them.
 */
import type { SentWith, TaskProgress, TaskTextField } from '../../model.ts';
import { type Redactor, redactTaskProgress, redactValue } from '../../redact.ts';
import { isRecord, isTime } from '../../values.ts';
import type { TaskChangeType } from '../history.ts';

/**
 * What an entry reports. `revoking`: the command to revoke was written; no worker has confirmed it. `propagated`: the
 * task never ran, and the failure of another one is stored as its own.
 */
export type EntryKind = TaskChangeType | 'revoking' | 'propagated';

/** Within one attempt the kind with the higher number decides the state. */
export const KIND_ORDER: Readonly<Record<EntryKind, number>> = {
  sent: 0,
  received: 1,
  // Weaker than `started`: revoking a task that runs does not end it.
  revoking: 2,
  started: 3,
  custom: 4,
  retried: 5,
  requeued: 6,
  revoked: 7,
  rejected: 8,
  propagated: 9,
  failed: 10,
  succeeded: 11,
};

/** The state that each kind stands for; a custom entry has its own. */
export const STATE_OF_KIND: Readonly<Record<EntryKind, string>> = {
  sent: 'PENDING',
  received: 'RECEIVED',
  revoking: 'REVOKED',
  started: 'STARTED',
  custom: 'UNKNOWN',
  retried: 'RETRY',
  requeued: 'PENDING',
  revoked: 'REVOKED',
  rejected: 'REJECTED',
  propagated: 'FAILURE',
  failed: 'FAILURE',
  succeeded: 'SUCCESS',
};

/** One message in the life of a task. Messages that report the same share one entry. Never changed, only replaced. */
export interface TaskEntry {
  readonly kind: EntryKind;
  /** Of a custom entry; `null` for all others. */
  readonly state: string | null;
  /** Who reported it: the client or worker itself, or the result backend. */
  readonly origin: 'event' | 'result';
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * Where {@link time} comes from.
   * - `sender`: the clock of the sender
   * - `arrival`: the message has no time; it arrived then, or happened then at the latest
   * - `reading`: the message was read from where it is stored; it happened at some time before
   */
  readonly timeSource: 'sender' | 'arrival' | 'reading';
  /** Read from where it is stored, and not received as it happened. */
  readonly isStored: boolean;
  /** Number of the attempt, 0 for the first; `null`: not known. */
  readonly retries: number | null;
  /** The number was not reported: it counts the retries that the backend had reported before. */
  readonly isCounted: boolean;
  readonly worker: string | null;
  readonly detail: string | null;
}

/**
 * The rank of the message that each value came from, as `precedence.ts` defines it; 0: no value yet.
 * `args` counts for `kwargs` too, `lineage` for parent and root, `exception` for the traceback too.
 */
export interface Ranks {
  readonly name: number;
  readonly args: number;
  readonly queue: number;
  readonly eta: number;
  readonly lineage: number;
  readonly group: number;
  readonly chord: number;
  readonly result: number;
  readonly exception: number;
}

/**
 * One task. `null` means unknown. Times in milliseconds since 1970. It survives JSON, except for stamps
 * that hold a bigint.
 */
export interface TaskRecord extends Required<SentWith> {
  readonly id: string;
  /** In the order of arrival. */
  readonly entries: readonly TaskEntry[];
  readonly ranks: Ranks;
  readonly name: string | null;
  readonly queue: string | null;
  readonly args: string | null;
  readonly kwargs: string | null;
  readonly eta: number | null;
  readonly expires: number | null;
  readonly parentId: string | null;
  /** A message reported that the task has no parent, so it is the root of its workflow. */
  readonly hasNoParent: boolean;
  /** As reported. A root that follows from the parent's is not part of the record. */
  readonly rootId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
  readonly kind: 'map' | 'starmap' | 'chunks' | null;
  readonly stamps: Stamps | null;
  readonly progress: KeptProgress | null;
  readonly result: string | null;
  readonly exception: string | null;
  readonly traceback: string | null;
  /** Seconds, as reported with the end that came last. */
  readonly runtime: number | null;
  /** Texts that their sender has cut. */
  readonly truncated: readonly TaskTextField[];
  /** It is in no queue and on no worker. If a worker had taken it, its end was not observed. */
  readonly isMissing: boolean;
}

/** A record that only its owner uses, so it may be changed in place. */
export type MutableRecord = {
  -readonly [Name in keyof Omit<TaskRecord, 'entries' | 'ranks'>]: TaskRecord[Name];
} & {
  readonly entries: TaskEntry[];
  readonly ranks: { -readonly [Name in keyof Ranks]: number };
};

/** @returns a copy that can be changed without changing the original */
export function copyRecord(record: TaskRecord): MutableRecord {
  return { ...record, entries: [...record.entries], ranks: { ...record.ranks } };
}

/** The state that an entry reports. */
export function stateOf({ kind, state }: Pick<TaskEntry, 'kind' | 'state'>): string {
  return state ?? STATE_OF_KIND[kind];
}

/**
 * Whether two entries report the same change, by the same origin. The failure of a task may turn out later to be that of
 * another one.
 */
export function isSameReport(a: TaskEntry, b: TaskEntry): boolean {
  return reportOf(a.kind) === reportOf(b.kind) && a.origin === b.origin && a.state === b.state;
}

function reportOf(kind: EntryKind): EntryKind {
  return kind === 'propagated' ? 'failed' : kind;
}

/** The last progress of a task that is known. */
export interface KeptProgress {
  readonly value: TaskProgress;
  /** When it was reported, or known to be true, in milliseconds since 1970. */
  readonly at: number;
  /** Number of the attempt that reported it, 0 for the first; `null`: not known. */
  readonly attempt: number | null;
  /** Whether the secrets were removed. */
  readonly isRedacted?: boolean;
}

/**
 * Takes a progress that a message reports, unless a later one is known.
 *
 * @param entry the message
 * @returns whether it differs from the known one
 */
export function takeProgress(
  record: { progress: KeptProgress | null },
  value: TaskProgress | null | undefined,
  { time, retries }: { readonly time: number; readonly retries: number | null },
): boolean {
  if (value === null || value === undefined) return false;
  const before = record.progress;
  record.progress = laterProgress(before, { value, at: time, attempt: retries });
  return !isSameProgress(record.progress, before);
}

/** The later of two; of two that are equally late, the same one whatever their order. */
function laterProgress(one: KeptProgress | null, other: KeptProgress | null): KeptProgress | null {
  if (one === null || other === null) return one ?? other;
  if (one.at !== other.at) return one.at > other.at ? one : other;
  return textOf(one) >= textOf(other) ? one : other;
}

/** Whether two report the same, whenever that was. */
function isSameProgress(one: KeptProgress | null, other: KeptProgress | null): boolean {
  if (one === null || other === null) return one === other;
  return textOf(one) === textOf(other);
}

function textOf({ value, attempt }: KeptProgress): string {
  const { current, total, percent, text } = value;
  return JSON.stringify([percent, current, total, text, attempt]);
}

/** Estimate of its memory, in bytes. */
export function progressSize(progress: KeptProgress | null): number {
  return progress === null ? 0 : 120 + 2 * (progress.value.text?.length ?? 0);
}

/** The same without secrets. */
export function redactedProgress(progress: KeptProgress | null, redactor: Redactor): KeptProgress | null {
  if (progress === null || progress.isRedacted === true) return progress;
  const { value } = progress;
  return { ...progress, value: redactTaskProgress(value, redactor), isRedacted: true };
}

/** The progress of a task as JSON: an array takes a third of the space of an object. */
export const PROGRESS_TEXT = { write: writeProgress, read: readProgress };

function writeProgress({ value, at, attempt, isRedacted }: KeptProgress): unknown {
  const { current, total, percent, text } = value;
  return [at, attempt, isRedacted === true ? 1 : 0, current, total, percent, text];
}

function readProgress(written: unknown): KeptProgress | null {
  if (!Array.isArray(written)) return null;
  const [at, attempt, isRedacted, current, total, percent, text] = written as unknown[];
  if (!isTime(at)) return null;
  const value = {
    current: numberOr(current),
    total: numberOr(total),
    percent: numberOr(percent),
    text: typeof text === 'string' ? text : null,
  };
  return { value, at, attempt: numberOr(attempt), ...(isRedacted === 1 && { isRedacted: true }) };
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

const MOST_CHARACTERS = 4_096;
/** The only key of an object that represents such a number. */
const MARK = '~';
/** Deepest nesting that is read. */
const DEEPEST = 200;

/** Stamps as they are kept. */
export interface Stamps {
  readonly value: unknown;
  /** Estimate in bytes. */
  readonly size: number;
  /** Whether the secrets were removed. */
  readonly isRedacted?: boolean;
}

/** @returns a copy; `null` if they are too large, not plain data, or absent */
export function keepStamps(given: unknown): Stamps | null {
  if (given === undefined || given === null) return null;
  let left = MOST_CHARACTERS;
  const weigh = (key: string, value: unknown): unknown => {
    left -= key.length + (typeof value === 'string' ? value.length : 8);
    if (left < 0) throw new RangeError('too large');
    return typeof value === 'bigint' ? '' : value;
  };
  try {
    if (JSON.stringify(given, weigh) === undefined) return null;
    return { value: structuredClone(given), size: 2 * (MOST_CHARACTERS - left) };
  } catch {
    return null;
  }
}

/** The same without secrets. */
export function redactedStamps(stamps: Stamps | null, redactor: Redactor): Stamps | null {
  if (stamps === null || stamps.isRedacted === true) return stamps;
  const { value, size } = stamps;
  return { value: redactValue(value, 'stamps', redactor), size, isRedacted: true };
}

/** Stamps as JSON, which lacks integers of any length and some other numbers. */
export const STAMPS_TEXT = { write: writeStamps, read: readStamps };

function writeStamps({ value, size, isRedacted }: Stamps): unknown {
  return [encode(value), size, isRedacted === true ? 1 : 0];
}

function readStamps(written: unknown): Stamps | null {
  if (!Array.isArray(written) || typeof written[1] !== 'number') return null;
  const [value, size, isRedacted] = written as [unknown, number, unknown];
  try {
    return { value: decode(value, 0), size, ...(isRedacted === 1 && { isRedacted: true }) };
  } catch {
    return null;
  }
}

function encode(value: unknown): unknown {
  if (typeof value === 'bigint') return { [MARK]: `n${value}` };
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { [MARK]: `f${Object.is(value, -0) ? '-0' : value}` };
  }
  if (value instanceof Date) return { [MARK]: `d${value.getTime()}` };
  if (value === undefined) return { [MARK]: 'u' };
  if (Array.isArray(value)) return Array.from(value, encode);
  if (!isRecord(value)) return value;
  const object = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, encode(member)]));
  return Object.hasOwn(object, MARK) ? { [MARK]: [object] } : object;
}

function decode(written: unknown, depth: number): unknown {
  if (depth > DEEPEST) throw new RangeError('too deep');
  if (Array.isArray(written)) return written.map((member) => decode(member, depth + 1));
  if (!isRecord(written)) return written;
  const mark = Object.hasOwn(written, MARK) ? written[MARK] : undefined;
  if (typeof mark === 'string') return decodeMark(mark);
  const object = Array.isArray(mark) && isRecord(mark[0]) ? mark[0] : written;
  return Object.fromEntries(Object.entries(object).map(([key, member]) => [key, decode(member, depth + 1)]));
}

function decodeMark(mark: string): unknown {
  const text = mark.slice(1);
  if (mark.startsWith('n')) return BigInt(text);
  if (mark.startsWith('f')) return Number(text);
  return mark.startsWith('d') ? new Date(Number(text)) : undefined;
}
