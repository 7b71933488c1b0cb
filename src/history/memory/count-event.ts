/** Counts what a message reports in the per-minute aggregate, if it is the first to report it. */
import type { MinuteAggregate, Outcome } from '../aggregate/minute-aggregate.ts';
import type { TaskChange } from '../history.ts';
import type { Added } from '../merge/merge.ts';
import { type EntryKind, KIND_ORDER, type TaskEntry, type TaskRecord } from '../merge/record.ts';

const MINUTE_MS = 60_000;

/** What each kind of message counts as; kinds that are left out are not counted. */
const OUTCOME_OF: Readonly<Partial<Record<EntryKind, Outcome>>> = {
  sent: 'sent',
  received: 'received',
  started: 'started',
  retried: 'retried',
  revoked: 'revoked',
  rejected: 'rejected',
  failed: 'failed',
  succeeded: 'succeeded',
};

/**
 * Counts a message that has been merged into its record. Of messages read from storage, only ends with a time are
 * counted, because the times of the others are unknown, unless they come from a log of everything. If the counts are
 * stored, ends in minutes that an earlier process has counted are left out.
 *
 * @param now milliseconds since 1970
 * @param soleQueueOf the only queue of a worker: engines do not say in all messages which queue a task was taken from
 */
export function countEvent(
  aggregate: MinuteAggregate,
  record: TaskRecord,
  change: TaskChange,
  { entry, outcome }: Added,
  now: number,
  soleQueueOf: (worker: string) => string | null,
): void {
  const counted = OUTCOME_OF[entry.kind];
  if (counted === undefined || outcome !== 'added') return;
  if (change.isLogged !== true && !isCounted(entry)) return;
  const { entries, name } = record;
  if (!isFirst(entries, entry)) return;
  const { kept } = aggregate;
  const ms = durationOf(record, entry, change);
  if (kept !== null && entry.isStored && kept.counted.has(Math.floor(entry.time / MINUTE_MS))) return;
  const worker = workerOf(record, entry);
  const queue = record.queue ?? (worker === null ? null : soleQueueOf(worker));
  aggregate.count(counted, name, entry.time, ms, now, { queue, worker });
}

/** The worker to which the event belongs, which the backend does not always report. */
function workerOf({ entries }: TaskRecord, { kind, worker }: TaskEntry): string | null {
  if (kind === 'sent') return null;
  return (
    worker ?? entries.findLast((entry) => entry.kind !== 'sent' && entry.worker !== null)?.worker ?? null
  );
}

/** Milliseconds that the task waited for its start, or ran until its end; NaN: unknown, or not applicable. */
function durationOf(record: TaskRecord, entry: TaskEntry, change: TaskChange): number {
  const { kind } = entry;
  if (kind === 'started') return waitOf(record, entry);
  return kind === 'succeeded' || kind === 'failed' ? runOf(record.entries, entry, change) : Number.NaN;
}

function isCounted({ isStored, kind, timeSource }: TaskEntry): boolean {
  return !isStored || (timeSource === 'sender' && KIND_ORDER[kind] >= KIND_ORDER.revoked);
}

/**
 * Worker and backend each report each change once: the one that has reported it more often is the first. The end of a
 * run counts once, although Celery reports that of a killed task twice.
 */
function isFirst(entries: readonly TaskEntry[], entry: TaskEntry): boolean {
  const { kind, origin } = entry;
  if (KIND_ORDER[kind] >= KIND_ORDER.revoked) return isFirstEnd(entries, entry);
  // Most tasks are reported by one origin only.
  if (entries.every((other) => other.origin === origin)) return true;
  let lead = 0;
  for (const other of entries) {
    if (other.kind === kind && isCounted(other)) lead += other.origin === origin ? 1 : -1;
  }
  return lead > 0;
}

/**
 * Whether no other entry reports this end: one of the same kind, with no receipt of the task between them. A worker may
 * report that it has started after the backend says that it has ended.
 */
function isFirstEnd(entries: readonly TaskEntry[], end: TaskEntry): boolean {
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.POSITIVE_INFINITY;
  for (const { kind, timeSource, time } of entries) {
    if (kind !== 'received' || timeSource !== 'sender') continue;
    if (time <= end.time) from = Math.max(from, time);
    else to = Math.min(to, time);
  }
  return !entries.some(
    (other) =>
      other !== end && other.kind === end.kind && isCounted(other) && other.time >= from && other.time < to,
  );
}

/** Milliseconds from when the task could start until it did; NaN: not known. */
function waitOf({ entries, eta }: TaskRecord, { time }: TaskEntry): number {
  const received = latest(entries, 'received', time, null);
  const sent = latest(entries, 'sent', time, received?.retries ?? 0);
  const from = sent?.time ?? received?.time ?? Number.NaN;
  return time - (eta !== null && eta > from ? Math.min(eta, time) : from);
}

/** Milliseconds that the task ran; NaN: not known. */
function runOf(
  entries: readonly TaskEntry[],
  { time, timeSource }: TaskEntry,
  { runtime }: TaskChange,
): number {
  if (typeof runtime === 'number') return runtime * 1_000;
  const started = latest(entries, 'started', time, null);
  return timeSource === 'sender' && started?.timeSource === 'sender' ? time - started.time : Number.NaN;
}

/** The last entry of a kind before a time. @param retries number of its attempt; `null`: any */
function latest(
  entries: readonly TaskEntry[],
  kind: EntryKind,
  before: number,
  retries: number | null,
): TaskEntry | null {
  let found: TaskEntry | null = null;
  for (const entry of entries) {
    if (entry.kind !== kind || entry.timeSource === 'reading' || entry.time > before) continue;
    if (retries !== null && (entry.retries ?? 0) !== retries) continue;
    if (found === null || entry.time >= found.time) found = entry;
  }
  return found;
}
