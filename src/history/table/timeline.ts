/**
 * What was told of each task, in the order of arrival: chains of entries in shared typed arrays, about
 * 24 bytes each. An entry is one message; messages that tell the same are kept once.
 */
import type { TaskChange, TaskChangeType } from '../history.ts';

/** Kinds of entries, ordered so that within one run the higher one tells the state. */
export const KIND = {
  SENT: 0,
  RECEIVED: 1,
  /** Written by the command that revokes: true unless the run has started. */
  REVOKING: 2,
  STARTED: 3,
  CUSTOM: 4,
  RETRIED: 5,
  REQUEUED: 6,
  REVOKED: 7,
  REJECTED: 8,
  FAILED: 9,
  SUCCEEDED: 10,
} as const;

const KIND_OF: Readonly<Record<TaskChangeType, number>> = {
  sent: KIND.SENT,
  received: KIND.RECEIVED,
  started: KIND.STARTED,
  succeeded: KIND.SUCCEEDED,
  failed: KIND.FAILED,
  retried: KIND.RETRIED,
  revoked: KIND.REVOKED,
  rejected: KIND.REJECTED,
  requeued: KIND.REQUEUED,
  custom: KIND.CUSTOM,
};

/** The state that each kind stands for; `CUSTOM` has its own. */
export const STATE_OF: readonly string[] = [
  'PENDING',
  'RECEIVED',
  'REVOKED',
  'STARTED',
  '',
  'RETRY',
  'PENDING',
  'REVOKED',
  'REJECTED',
  'FAILURE',
  'SUCCESS',
];

/** The kind of a change. An unknown type counts as custom. */
export function kindOf(change: TaskChange): number {
  const kind = KIND_OF[change.type] ?? KIND.CUSTOM;
  return kind === KIND.REVOKED && change.tentative === true ? KIND.REVOKING : kind;
}

const KIND_BITS = 0xf;
const FROM_RESULT = 0x10;
const DATED = 0x20;
const RETRIES_KNOWN = 0x40;
const STORED = 0x80;
const VAGUE = 0x100;
const RETRIES_SHIFT = 9;
const MAX_RETRIES = 0x7fffff;

/** The entries of all tasks. Entry 0 is none. */
export interface TimelinePool {
  /** By the sender's clock where {@link isDated}, else the time of arrival; milliseconds. */
  readonly time: (entry: number) => number;
  readonly next: (entry: number) => number;
  readonly kind: (entry: number) => number;
  readonly isResult: (entry: number) => boolean;
  readonly isDated: (entry: number) => boolean;
  /** Read where it is kept, and not heard since. */
  readonly isStored: (entry: number) => boolean;
  /** Its time is the one at which it was read: it happened at some time before. */
  readonly isVague: (entry: number) => boolean;
  /** −1 when not told. */
  readonly retries: (entry: number) => number;
  /** Label of the worker. */
  readonly worker: (entry: number) => number;
  /** Label of the state, for custom ones. */
  readonly state: (entry: number) => number;
  readonly detail: (entry: number) => string | null;
  setDetail(entry: number, detail: string): void;
  /** What was read has now been heard. */
  markHeard(entry: number): void;
  /** A message without a time that tells the same is better dated. */
  redate(entry: number, time: number, isVague: boolean): void;
  /** Adds an entry behind `tail` (0: it begins a chain). */
  add(tail: number, fields: EntryFields): number;
  /** Takes the entry behind this one out of its chain. */
  removeAfter(entry: number): void;
  /** Gives a whole chain back. */
  release(head: number): void;
  /** Called with each entry that is given back. */
  onRelease(callback: (worker: number, state: number) => void): void;
}

/** What an entry holds. */
export interface EntryFields {
  readonly time: number;
  readonly kind: number;
  readonly isResult: boolean;
  readonly isDated: boolean;
  readonly isStored: boolean;
  readonly isVague: boolean;
  readonly retries: number;
  readonly worker: number;
  readonly state: number;
}

/** @returns an empty pool, which grows as needed */
export function createTimelinePool(): TimelinePool {
  let capacity = 1024;
  let times = new Float64Array(capacity);
  let nexts = new Uint32Array(capacity);
  let infos = new Uint32Array(capacity);
  let workers = new Uint32Array(capacity);
  let states = new Uint32Array(capacity);
  const details = new Map<number, string>();
  let used = 1;
  let free = 0;
  let released: (worker: number, state: number) => void = () => {};

  function allocate(): number {
    if (free !== 0) {
      const entry = free;
      free = nexts[entry] as number;
      return entry;
    }
    if (used === capacity) {
      capacity = Math.ceil(capacity * 1.5);
      times = widen(times, new Float64Array(capacity));
      nexts = widen(nexts, new Uint32Array(capacity));
      infos = widen(infos, new Uint32Array(capacity));
      workers = widen(workers, new Uint32Array(capacity));
      states = widen(states, new Uint32Array(capacity));
    }
    return used++;
  }

  function give(entry: number): void {
    if (details.size > 0) details.delete(entry);
    released(workers[entry] as number, states[entry] as number);
    nexts[entry] = free;
    free = entry;
  }

  return {
    time: (entry) => times[entry] as number,
    next: (entry) => nexts[entry] as number,
    kind: (entry) => (infos[entry] as number) & KIND_BITS,
    isResult: (entry) => ((infos[entry] as number) & FROM_RESULT) !== 0,
    isDated: (entry) => ((infos[entry] as number) & DATED) !== 0,
    isStored: (entry) => ((infos[entry] as number) & STORED) !== 0,
    isVague: (entry) => ((infos[entry] as number) & VAGUE) !== 0,
    retries: (entry) => {
      const info = infos[entry] as number;
      return (info & RETRIES_KNOWN) === 0 ? -1 : info >>> RETRIES_SHIFT;
    },
    worker: (entry) => workers[entry] as number,
    state: (entry) => states[entry] as number,
    detail: (entry) => details.get(entry) ?? null,
    setDetail: (entry, detail) => details.set(entry, detail),
    markHeard(entry) {
      infos[entry] = (infos[entry] as number) & ~STORED;
    },
    redate(entry, time, isVague) {
      times[entry] = time;
      infos[entry] = isVague ? (infos[entry] as number) | VAGUE : (infos[entry] as number) & ~VAGUE;
    },
    add(tail, fields) {
      const entry = allocate();
      times[entry] = fields.time;
      nexts[entry] = 0;
      infos[entry] =
        fields.kind |
        (fields.isResult ? FROM_RESULT : 0) |
        (fields.isDated ? DATED : 0) |
        (fields.isStored ? STORED : 0) |
        (fields.isVague ? VAGUE : 0) |
        (fields.retries < 0 ? 0 : RETRIES_KNOWN | (Math.min(fields.retries, MAX_RETRIES) << RETRIES_SHIFT));
      workers[entry] = fields.worker;
      states[entry] = fields.state;
      if (tail !== 0) nexts[tail] = entry;
      return entry;
    },
    removeAfter(entry) {
      const gone = nexts[entry] as number;
      nexts[entry] = nexts[gone] as number;
      give(gone);
    },
    release(head) {
      let entry = head;
      while (entry !== 0) {
        const next = nexts[entry] as number;
        give(entry);
        entry = next;
      }
    },
    onRelease(callback) {
      released = callback;
    },
  };
}

function widen<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}
