/**
 * One source on the bench: made afresh for each case, filled if it can be, closed afterwards, and never
 * waited for longer than the time limit.
 */
import type { Task } from '../model.ts';
import type { Awaitable, MonitorSources, ReadContext, SourcePart } from '../source.ts';
import { sampleTasks } from './sample-tasks.ts';
import { fail } from './shape.ts';

/** What one call of {@link ContractSetup.create} gives. */
export interface SourceUnderTest {
  /** The bundle that `createMonitorRouter({ sources })` would get. */
  readonly sources: MonitorSources;
  /**
   * Puts these tasks into the queue and resolves once the source can read them. Without it the suite
   * checks whatever the source holds, which must then be one task at least.
   */
  seed?(tasks: readonly Task[]): Awaitable<void>;
  /** Called after the source's own `close()`: ends what `create` started beside it. */
  close?(): Awaitable<void>;
}

/** Parts that the suite has cases for; `tasks.tree` and `tasks.stats` are the optional reads of `tasks`. */
export type ContractPart =
  | 'tasks'
  | 'tasks.tree'
  | 'tasks.stats'
  | 'workers'
  | 'events'
  | 'schedules'
  | 'health'
  | 'queues'
  | 'components'
  | 'history';

const PARTS = [
  'tasks',
  'workers',
  'events',
  'schedules',
  'health',
  'queues',
  'components',
  'history',
] as const;

/** The parts that a bundle has, by name; whatever else stands in it is its own affair. */
export function partsOf(sources: MonitorSources): readonly (readonly [string, SourcePart])[] {
  return PARTS.flatMap((name) => {
    const part = sources[name];
    return part ? [[name, part] as const] : [];
  });
}

/** What to check, and how to get at it. */
export interface ContractSetup {
  /** The parts that the source has. Only these are checked, and a part that is not named is a failure. */
  readonly parts: readonly ContractPart[];
  /** Makes a source of its own for each case. */
  create(): Awaitable<SourceUnderTest>;
  /**
   * What it holds may change while a case runs. A case that fails is then tried again and fails only when
   * it has failed three times. Default false.
   */
  readonly live?: boolean;
  /** Longest wait for any one call, in milliseconds. Default 5000. */
  readonly timeoutMs?: number;
}

/** What a case works with. */
export interface Bench {
  readonly sources: MonitorSources;
  readonly live: boolean;
  /** The tasks that were put in; `null` where the source cannot be filled. */
  readonly seeded: readonly Task[] | null;
  /** Puts one more task in; absent where the source cannot be filled. */
  readonly seed: ((tasks: readonly Task[]) => Awaitable<void>) | undefined;
  /** The moment before anything was put in. */
  readonly openedAt: Date;
  /** Waits for one call, or fails with what did not answer. */
  within<T>(what: string, call: () => Awaitable<T>): Promise<T>;
  /** The same for a read, which gets a signal that is never aborted. */
  read<T>(what: string, call: (context: ReadContext) => Awaitable<T>): Promise<T>;
}

/** Waits for `call`, but no longer than `timeoutMs`. */
async function within<T>(timeoutMs: number, what: string, call: () => Awaitable<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // Not unref'ed: a call that never settles must end as a failure, not as an early exit of the runner.
    timer = setTimeout(() => {
      try {
        fail(what, `an answer within ${timeoutMs} ms`, 'none');
      } catch (error) {
        reject(error);
      }
    }, timeoutMs);
  });
  try {
    return await Promise.race([(async () => await call())(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs one case on a source made for it. */
export async function onBench(setup: ContractSetup, check: (bench: Bench) => Promise<void>): Promise<void> {
  const timeoutMs = setup.timeoutMs ?? 5000;
  const openedAt = new Date();
  const made = await setup.create();
  const bench: Bench = {
    sources: made.sources,
    live: setup.live ?? false,
    seeded: made.seed ? sampleTasks(openedAt) : null,
    seed: made.seed?.bind(made),
    openedAt,
    within: (what, call) => within(timeoutMs, what, call),
    read: (what, call) => within(timeoutMs, what, () => call({ signal: new AbortController().signal })),
  };
  try {
    if (bench.seeded) await made.seed?.(bench.seeded);
    await check(bench);
  } finally {
    try {
      await within(timeoutMs, 'close()', () => made.sources.close?.());
    } finally {
      await made.close?.();
    }
  }
}
