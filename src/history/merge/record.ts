/**
 * Everything that is known about one task, as plain data: what its messages reported, and the data for merging the next
 * one. `merge.ts` makes records from messages, `life.ts` and `timeline.ts` read them.
 */
import type { SentWith, TaskTextField } from '../../model.ts';
import type { TaskChangeType } from '../history.ts';
import type { KeptProgress } from './progress.ts';
import type { Stamps } from './stamps.ts';

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
