import { KIND, type TimelinePool } from '../table/timeline.ts';
import type { Folded } from './folded.ts';

/**
 * The entries of a task as a reader sees them: oldest first, a change that both the worker and the
 * backend tell once, with the worker's time.
 *
 * @param folded the fold of that task, fresh
 */
export function inOrder(pool: TimelinePool, folded: Folded): number[] {
  const { count, entries, runs } = folded;
  const listed: { entry: number; place: number; time: number }[] = [];
  for (let at = 0; at < count; at++) {
    const entry = entries[at] as number;
    if (pool.kind(entry) === KIND.SENT ? isSentBefore(pool, folded, at) : isToldByWorker(pool, folded, at))
      continue;
    listed.push({ entry, place: placeOf(pool, folded, at), time: pool.time(entry) });
  }
  listed.sort((a, b) => a.place - b.place || a.time - b.time);
  return listed.map(({ entry }) => entry);

  /** Runs in their order; in a run by kind, since clocks of one change differ by milliseconds. */
  function placeOf(from: TimelinePool, fold: Folded, at: number): number {
    const entry = entries[at] as number;
    const kind = from.kind(entry);
    if (kind !== KIND.SENT) return orderOf(runs[at] as number) * 16 + kind;
    // A message is sent before the run that it causes.
    return orderOf(runCausedBy(from, fold, entry)) * 16;
  }

  function orderOf(run: number): number {
    const start = startOf(pool, folded, run);
    let before = 0;
    for (let other = 0; other <= lastRun(); other++) {
      if (other === run) continue;
      const otherStart = startOf(pool, folded, other);
      if (otherStart < start || (otherStart === start && other < run)) before++;
    }
    return before;
  }

  function lastRun(): number {
    let last = -1;
    for (let at = 0; at < count; at++) last = Math.max(last, runs[at] as number);
    return last;
  }

  /** The run that this message was received as: the next of its attempt, or the last one. */
  function runCausedBy(from: TimelinePool, fold: Folded, sent: number): number {
    const retries = Math.max(0, from.retries(sent));
    let match = -1;
    let matchDistance = Number.POSITIVE_INFINITY;
    for (let at = 0; at < count; at++) {
      const entry = entries[at] as number;
      if (from.kind(entry) === KIND.SENT || Math.max(0, from.retries(entry)) !== retries) continue;
      if (from.kind(entry) !== KIND.RECEIVED) continue;
      // Of two as near, the one that came after it.
      const distance =
        Math.abs(from.time(entry) - from.time(sent)) + (from.time(entry) < from.time(sent) ? 0.001 : 0);
      if (distance < matchDistance) {
        match = fold.runs[at] as number;
        matchDistance = distance;
      }
    }
    if (match >= 0) return match;
    return retries === 0 ? 0 : lastRun() + 1;
  }
}

/** Attempts in their order, then the time of the run's first entry. */
function startOf(pool: TimelinePool, folded: Folded, run: number): number {
  let start = Number.POSITIVE_INFINITY;
  for (let at = 0; at < folded.count; at++) {
    const entry = folded.entries[at] as number;
    if (folded.runs[at] !== run) continue;
    const time = pool.time(entry);
    if ((pool.isDated(entry) || start === Number.POSITIVE_INFINITY) && time < start) start = time;
  }
  return start;
}

/** Whether a message found in its queue is one that its sender told of, or that was found there before. */
function isSentBefore(pool: TimelinePool, folded: Folded, at: number): boolean {
  const entry = folded.entries[at] as number;
  if (!pool.isVague(entry)) return false;
  const retries = Math.max(0, pool.retries(entry));
  for (let other = 0; other < folded.count; other++) {
    const candidate = folded.entries[other] as number;
    if (pool.kind(candidate) !== KIND.SENT || Math.max(0, pool.retries(candidate)) !== retries) continue;
    if (other < at || !pool.isVague(candidate)) return true;
  }
  return false;
}

function isToldByWorker(pool: TimelinePool, folded: Folded, at: number): boolean {
  const entry = folded.entries[at] as number;
  if (!pool.isResult(entry)) return false;
  const kind = pool.kind(entry);
  for (let other = 0; other < folded.count; other++) {
    const candidate = folded.entries[other] as number;
    if (pool.isResult(candidate) || folded.runs[other] !== folded.runs[at]) continue;
    const sameKind = pool.kind(candidate) === kind && pool.state(candidate) === pool.state(entry);
    const bothRevoked = kind === KIND.REVOKING && pool.kind(candidate) === KIND.REVOKED;
    if (sameKind || bothRevoked) return true;
  }
  return false;
}
