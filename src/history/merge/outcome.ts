/** Takes from a message how an attempt ended: result, exception, run time. */
import type { TaskTextField } from '../../model.ts';
import type { TaskChange } from '../history.ts';
import { type TimeOrder, wins } from './claimant.ts';
import { addTruncated, removeTruncated } from './fields.ts';
import { OUTCOME_PRECEDENCE, type OutcomeReporter, RESULT_PRECEDENCE, RESULT_RANK } from './precedence.ts';
import { KIND_ORDER, type MutableRecord, type TaskEntry } from './record.ts';

/** @param order how the time of the message compares with other messages of the task */
export function takeOutcome(
  record: MutableRecord,
  change: TaskChange,
  entry: TaskEntry,
  order: TimeOrder,
): void {
  const reporter = reporterOf(change);
  const { kind } = entry;
  const { runtime, result, exception, traceback } = change;
  if (isEnd(entry) && isLastEnd(record, entry)) record.runtime = typeof runtime === 'number' ? runtime : null;
  if (kind === 'succeeded' && typeof result === 'string' && order.isLatestOfKind) {
    takeResult(record, result, reporter);
  }
  if (typeof exception !== 'string' && typeof traceback !== 'string') return;
  const field = kind === 'retried' ? 'retryException' : 'exception';
  const right = OUTCOME_PRECEDENCE[field][reporter];
  if (!wins(right, record.ranks.exception, order, false)) return;
  record.ranks.exception = right.rank;
  if (typeof exception === 'string') record.exception = exception;
  if (typeof traceback === 'string') record.traceback = traceback;
}

/** Only the worker measures the run time, and reports it with the end if at all. */
function isEnd({ kind, origin }: TaskEntry): boolean {
  return origin === 'event' && KIND_ORDER[kind] >= KIND_ORDER.revoked;
}

/** Whether no other run ended later. */
function isLastEnd({ entries }: MutableRecord, entry: TaskEntry): boolean {
  return entries.every((other) => other.time <= entry.time || !isEnd(other));
}

function reporterOf({ origin, truncated }: TaskChange): OutcomeReporter {
  if (origin === 'result') return 'backend';
  return truncated?.includes('result') === true ? 'cut' : 'worker';
}

function takeResult(record: MutableRecord, result: string, reporter: OutcomeReporter): void {
  const held = record.ranks.result;
  const decision = RESULT_PRECEDENCE[reporter][held];
  if (decision === 'leave') return;
  record.ranks.result = rankAfter(held, reporter);
  if (decision === 'note') return;
  record.result = result;
  if (reporter === 'backend') removeTruncated(record, 'result');
}

function rankAfter(held: number, reporter: OutcomeReporter): number {
  if (held === RESULT_RANK.CUT || reporter === 'cut') return RESULT_RANK.CUT;
  return reporter === 'worker' ? RESULT_RANK.WORKER : Math.max(held, RESULT_RANK.BACKEND);
}

/** Notes which texts the sender has cut. Another message may have reported the whole text, which is then kept. */
export function takeTruncated(record: MutableRecord, change: TaskChange): void {
  for (const field of change.truncated ?? []) {
    if (isHeld(record, field, change)) addTruncated(record, field);
  }
}

function isHeld(record: MutableRecord, field: TaskTextField, change: TaskChange): boolean {
  if (field === 'exception' || field === 'traceback') return true;
  return record[field] === null || record[field] === change[field];
}
