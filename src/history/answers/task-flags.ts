/** What is wrong with a task, as far as it shows in its state and the clock. */
import { isDone, type TaskFlag } from '../../model.ts';
import { FACT, type Records } from '../table/records.ts';

/** What flags depend on beside the task. */
export interface FlagContext {
  /** Milliseconds; stands still while the source is disconnected. */
  now(): number;
  /** Whether a task that this worker took at that time (milliseconds, NaN: unknown) is lost. */
  isLost(hostname: string, since: number): boolean;
}

/** @param since when its worker took the task, at the latest, in milliseconds; NaN: unknown */
export function flagsOf(
  slot: number,
  state: string,
  since: number,
  records: Records,
  { now, isLost }: FlagContext,
): readonly TaskFlag[] {
  if (isDone(state) || state === 'RETRY') return [];
  const flags: TaskFlag[] = [];
  const worker = records.worker[slot] as number;
  if (worker !== 0 && state !== 'PENDING' && isLost(records.workers.text(worker), since)) {
    flags.push('worker_lost');
  }
  const eta = records.extras.get(slot)?.eta;
  if (eta != null && eta <= now() && (state === 'PENDING' || state === 'RECEIVED')) flags.push('overdue');
  if (state === 'PENDING' && ((records.facts[slot] as number) & FACT.MISSING) !== 0) {
    flags.push('never_received');
  }
  return flags;
}
