/** Finds out early that a piece of work would wait too long, by the usual time of those before it. */
import type { Queues } from './work.ts';

/** Most pieces of work that may wait for clients. */
const MAX_WAITING = 256;
/** Work that would wait longer is refused, in milliseconds. Half of the default time limit of a read. */
const MAX_WAIT_MS = 5_000;
/** Expected time of a kind of work that has not been seen yet, in milliseconds. */
const FIRST_ESTIMATE_MS = 10;
/** Weight of the latest work in the estimate of its kind. */
const LATEST_WEIGHT = 1 / 4;

/** Usual time of each kind of work, in milliseconds. */
export type Estimates = Map<string, number>;

/** Notes how long a piece of work has taken. */
export function learn(estimates: Estimates, kind: string, usedMs: number): void {
  const usual = estimates.get(kind) ?? usedMs;
  estimates.set(kind, usual + (usedMs - usual) * LATEST_WEIGHT);
}

/** Whether one more piece of work in the queue `key` would have to wait too long. */
export function isOverloaded(queues: Queues, estimates: Estimates, key: string, kind: string): boolean {
  let count = 0;
  let total = 0;
  let before = 0;
  for (const [name, queue] of queues) {
    count += queue.length;
    const rest = queue.reduce((sum, work) => sum + Math.max(0, usualOf(work.kind) - work.usedMs), 0);
    total += rest;
    if (name === key) before = rest;
  }
  const competing = queues.has(key) ? queues.size : queues.size + 1;
  const inTurns = (before + usualOf(kind)) * competing - usualOf(kind);
  return count >= MAX_WAITING || Math.min(total, inTurns) > MAX_WAIT_MS;

  function usualOf(of: string): number {
    return estimates.get(of) ?? FIRST_ESTIMATE_MS;
  }
}
