/** Problems of a task that its state and the clock show. */
import { isDone, type TaskFlag } from '../../model.ts';
import type { TaskLife } from '../merge/life.ts';
import { etaOf } from '../merge/task.ts';
import { isMissing, type Records } from '../table/records.ts';

/** What flags depend on besides the task. */
export interface FlagContext {
  /** Milliseconds; stands still while the source is disconnected. */
  now(): number;
  /** Whether a task that this worker took at that time (milliseconds, NaN: unknown) is lost. */
  isLost(hostname: string, since: number): boolean;
}

/** The data of a task on which its flags depend. Times in milliseconds since 1970. */
export interface FlagFacts {
  readonly state: string;
  /** When its worker took the task, at the latest; NaN: unknown. */
  readonly since: number;
  /** Of the current attempt; `null`: none, or unknown. */
  readonly eta: number | null;
  /** Whether a worker has it and has not ended it. */
  readonly isOnWorker: boolean;
  /** Whether it failed without having run, because another task did. */
  readonly isConsequence: boolean;
  /** Whether one of its attempts ran more than once. */
  readonly ranTwice: boolean;
}

/** @returns what flags depend on */
export function flagFactsOf(life: TaskLife, eta: number | null): FlagFacts {
  const { kind, state, isHeld, ranTwice } = life;
  return {
    state,
    since: life.received ?? life.timestamp ?? Number.NaN,
    eta: etaOf(life, eta),
    isOnWorker: kind === 'retried' ? isHeld : state !== 'PENDING',
    isConsequence: kind === 'propagated',
    ranTwice,
  };
}

/** @returns what is wrong with a task of the table */
export function flagsOf(
  slot: number,
  facts: FlagFacts,
  records: Records,
  context: FlagContext,
): readonly TaskFlag[] {
  const worker = records.worker[slot] as number;
  const name = worker === 0 ? null : records.workers.text(worker);
  return flagsFrom(facts, name, isMissing(records, slot), context);
}

/**
 * @param worker that has or had the task; `null`: unknown
 * @param isNowhere whether the task is in no queue and on no worker
 * @returns what is wrong with a task
 */
export function flagsFrom(
  { state, since, eta, isOnWorker, isConsequence, ranTwice }: FlagFacts,
  worker: string | null,
  isNowhere: boolean,
  { now, isLost }: FlagContext,
): readonly TaskFlag[] {
  const repeated: readonly TaskFlag[] = ranTwice ? ['ran_twice'] : [];
  if (isDone(state)) return isConsequence ? ['consequence'] : repeated;
  // The state of its worker does not matter once a task has ended.
  if (isNowhere && state !== 'PENDING') return ['end_unseen', ...repeated];
  const flags: TaskFlag[] = [...repeated];
  if (worker !== null && isOnWorker && isLost(worker, since)) flags.push('worker_lost');
  if (eta !== null && eta <= now() && UNSTARTED.has(state)) flags.push('overdue');
  if (isNowhere) flags.push('never_received');
  return flags;
}

const UNSTARTED: ReadonlySet<string> = new Set(['PENDING', 'RECEIVED', 'RETRY']);
