/**
 * Runs one case against a source: creates the source, seeds it if possible, closes it afterwards, and limits
 * every wait by `timeoutMs`.
 */
import type { Task } from '../model.ts';
import { type AllCapabilities, capabilitiesOf } from '../source/task-query.ts';
import type { Awaitable, MonitorSources, ReadContext, SourcePart, TaskCapabilities } from '../source.ts';
import { sampleTasks } from './sample-tasks.ts';
import { fail } from './shape.ts';

/** Result of {@link ContractSetup.create}. */
export interface SourceUnderTest {
  /** The bundle to check, as `createMonitorRouter({ sources })` takes it. */
  readonly sources: MonitorSources;
  /**
   * Adds these tasks and resolves when the source can read them. Without `seed` the suite checks the existing tasks
   * of the source, of which there must be at least one.
   */
  seed?(tasks: readonly Task[]): Awaitable<void>;
  /** Called after the source's own `close()`, to stop everything else that `create` started. */
  close?(): Awaitable<void>;
}

/** Parts that the suite has cases for. `tasks.tree` and `tasks.stats` are the optional reads of `tasks`. */
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

/** The parts of a bundle, by name. Other members of the bundle are ignored. */
export function partsOf(sources: MonitorSources): readonly (readonly [string, SourcePart])[] {
  return PARTS.flatMap((name) => {
    const part = sources[name];
    return part ? [[name, part] as const] : [];
  });
}

/** What to check and how to create it. */
export interface ContractSetup {
  /**
   * The parts that the source has. Only these are checked; a part that is missing from this list fails the
   * suite.
   */
  readonly parts: readonly ContractPart[];
  /** Creates a new source. Called once per case. */
  create(): Awaitable<SourceUnderTest>;
  /**
   * Set it when the data may change while a case runs. A failed case is then repeated and fails only after
   * three attempts. Default false.
   */
  readonly live?: boolean;
  /** Maximum wait for any one call, in milliseconds. Default 5000. */
  readonly timeoutMs?: number;
  /** `capabilities` of the part `tasks`, if any. Cases that need more are skipped. Default: everything is supported. */
  readonly capabilities?: TaskCapabilities;
}

/** Why cases on the seeded tasks are skipped. */
export const NO_SEED = 'The source cannot be seeded.';

/** Thrown by a case that the source gives nothing to check. */
export class NothingToCheck extends Error {}

/** The tools of a case. */
export interface Bench {
  readonly sources: MonitorSources;
  readonly live: boolean;
  /** What the part `tasks` supports. */
  readonly can: AllCapabilities;
  /** The tasks that were seeded; `null` when the source cannot be seeded. */
  readonly seeded: readonly Task[] | null;
  /** Adds more tasks; `undefined` when the source cannot be seeded. */
  readonly seed: ((tasks: readonly Task[]) => Awaitable<void>) | undefined;
  /** When the bench was opened, before anything was seeded. */
  readonly openedAt: Date;
  /** Ends the case as skipped, with a sentence that says what the source lacks. A case that returns has checked it. */
  readonly skip: (reason: string) => never;
  /** Waits for one call. Fails with `what` when the call does not settle in time. */
  within<T>(what: string, call: () => Awaitable<T>): Promise<T>;
  /** Like `within`, for a read. The signal in its context is never aborted. */
  read<T>(what: string, call: (context: ReadContext) => Awaitable<T>): Promise<T>;
}

/**
 * The cases of one part: each title describes a behaviour, each function rejects when the behaviour is
 * missing, and calls `bench.skip` when the source has nothing that would show it.
 */
export type Checks = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

async function within<T>(timeoutMs: number, what: string, call: () => Awaitable<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // Not unref'ed: a call that never settles must be reported as a failure, not end the test runner early.
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

/** Runs one case on a new source. */
export async function onBench(setup: ContractSetup, check: (bench: Bench) => Promise<void>): Promise<void> {
  const timeoutMs = setup.timeoutMs ?? 5000;
  const openedAt = new Date();
  const made = await setup.create();
  const bench: Bench = {
    sources: made.sources,
    can: capabilitiesOf(setup.capabilities),
    live: setup.live ?? false,
    seeded: made.seed ? sampleTasks(openedAt) : null,
    seed: made.seed?.bind(made),
    openedAt,
    skip(reason) {
      throw new NothingToCheck(reason);
    },
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
