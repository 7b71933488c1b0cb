/** Takes what a message says of how an attempt ended: result, exception, run time. */
import type { TaskTextField } from '../../model.ts';
import type { TaskChange } from '../history.ts';
import { addTruncated, type Draft, removeTruncated } from './draft.ts';
import {
  OUTCOME_PRECEDENCE,
  type OutcomeReporter,
  RESULT_PRECEDENCE,
  RESULT_RANK,
  type Standing,
  wins,
} from './precedence.ts';
import type { TaskEntry } from './record.ts';

/** @param standing of the message among the entries of the task */
export function takeOutcome(draft: Draft, change: TaskChange, { kind }: TaskEntry, standing: Standing): void {
  const reporter = reporterOf(change);
  const { runtime, result, exception, traceback } = change;
  if (kind === 'succeeded') {
    const mayTime = wins(OUTCOME_PRECEDENCE.runtime[reporter], 0, standing, draft.runtime === null);
    if (typeof runtime === 'number' && mayTime) draft.runtime = runtime;
    if (typeof result === 'string' && standing.latestOfKind) takeResult(draft, result, reporter);
  }
  if (typeof exception !== 'string' && typeof traceback !== 'string') return;
  const field = kind === 'retried' ? 'retryException' : 'exception';
  const right = OUTCOME_PRECEDENCE[field][reporter];
  if (!wins(right, draft.ranks.exception, standing, false)) return;
  draft.ranks.exception = right.rank;
  if (typeof exception === 'string') draft.exception = exception;
  if (typeof traceback === 'string') draft.traceback = traceback;
}

function reporterOf({ origin, truncated }: TaskChange): OutcomeReporter {
  if (origin === 'result') return 'backend';
  return truncated?.includes('result') === true ? 'cut' : 'worker';
}

function takeResult(draft: Draft, result: string, reporter: OutcomeReporter): void {
  const held = draft.ranks.result;
  const decision = RESULT_PRECEDENCE[reporter][held];
  if (decision === 'leave') return;
  draft.ranks.result = rankAfter(held, reporter);
  if (decision === 'note') return;
  draft.result = result;
  if (reporter === 'backend') removeTruncated(draft, 'result');
}

function rankAfter(held: number, reporter: OutcomeReporter): number {
  if (held === RESULT_RANK.CUT || reporter === 'cut') return RESULT_RANK.CUT;
  return reporter === 'worker' ? RESULT_RANK.WORKER : Math.max(held, RESULT_RANK.BACKEND);
}

/** Notes which texts the sender has cut. Another message may have reported the whole text, which is held then. */
export function takeTruncated(draft: Draft, change: TaskChange): void {
  for (const field of change.truncated ?? []) {
    if (isHeld(draft, field, change)) addTruncated(draft, field);
  }
}

function isHeld(draft: Draft, field: TaskTextField, change: TaskChange): boolean {
  if (field === 'exception' || field === 'traceback') return true;
  return draft[field] === null || draft[field] === change[field];
}
