/** What a fuzz target is, and how its cases are run. */
import fc from 'fast-check';

/** One reader of input that is not ours. */
export interface FuzzTarget<Input> {
  readonly name: string;
  /** Of a thousand cases of a whole run, how many. */
  readonly share: number;
  /** Cases that one input holds. Default 1. */
  readonly casesPerInput?: number;
  /** Files under `src/` whose lines it is meant to reach, for the summary of a long run. */
  readonly covers: readonly string[];
  readonly inputs: fc.Arbitrary<Input>;
  /** What it needs and does not find here, such as `install redis-server`. Default: nothing. */
  readonly missing?: string | null;
  /** One input takes many turns of the event loop, so its time is no stall: it is told, and bounds nothing. */
  readonly isSlow?: boolean;
  /** Starts what its cases run against. */
  open?(): Promise<void>;
  close?(): Promise<void>;
  /** Throws when the library does with this input what it must not. */
  check(input: Input): void | Promise<void>;
}

/** A target whatever its inputs are. */
export interface Runnable extends Pick<FuzzTarget<unknown>, 'name' | 'share' | 'covers' | 'missing'> {
  /** @throws Error with the smallest input that fails, and the seed that leads to it */
  run(run: FuzzRun): Promise<FuzzReport>;
}

export function defineTarget<Input>(target: FuzzTarget<Input>): Runnable {
  const { name, share, covers, missing = null } = target;
  return {
    ...{ name, share, covers, missing },
    async run(run) {
      await target.open?.();
      try {
        return await runCases(target, run);
      } finally {
        await target.close?.();
      }
    },
  };
}

/** How to run a target. */
export interface FuzzRun {
  readonly cases: number;
  readonly seed: number;
  /** Longest time that one input may hold the event loop, in milliseconds. */
  readonly stallMs: number;
}

/** How a target has done. */
export interface FuzzReport {
  readonly name: string;
  readonly cases: number;
  readonly seconds: number;
  /** Of all threads. */
  readonly processorSeconds: number;
  /** Of the slowest input, in milliseconds: the fastest of its runs when it was run again. */
  readonly slowestMs: number;
  readonly slowest: string;
}

/** Runs of one input until it counts as slow: the machine may have been busy with something else. */
const RUNS_TO_PROVE = 5;

async function runCases<Input>(target: FuzzTarget<Input>, run: FuzzRun): Promise<FuzzReport> {
  const { casesPerInput = 1 } = target;
  const numRuns = Math.ceil(run.cases / casesPerInput);
  const slowest = { ms: 0, input: '' };
  const start = performance.now();
  const used = process.cpuUsage();
  const property = fc.asyncProperty(target.inputs, async (input) => {
    const ms = await timeOf(target, input);
    if (ms <= slowest.ms) return;
    const proven = ms > run.stallMs / 2 && target.isSlow !== true ? await fastestOf(target, input, ms) : ms;
    if (proven > slowest.ms) Object.assign(slowest, { ms: proven, input: shortened(input) });
  });
  await fc.assert(property, { numRuns, seed: run.seed });
  // Not within the property: making a slow input smaller takes longer than all others.
  if (slowest.ms > run.stallMs && target.isSlow !== true) {
    throw new Error(`An input took ${slowest.ms.toFixed()} ms, ${run.stallMs} at most: ${slowest.input}`);
  }
  const { user, system } = process.cpuUsage(used);
  return {
    name: target.name,
    cases: numRuns * casesPerInput,
    seconds: (performance.now() - start) / 1_000,
    processorSeconds: (user + system) / 1e6,
    slowestMs: slowest.ms,
    slowest: slowest.input,
  };
}

async function timeOf<Input>(target: FuzzTarget<Input>, input: Input): Promise<number> {
  const start = performance.now();
  const pending = target.check(input);
  if (pending !== undefined) await pending;
  return performance.now() - start;
}

/** By the clock, or by the processor's time where others have had the processor meanwhile. */
async function fastestOf<Input>(target: FuzzTarget<Input>, input: Input, first: number): Promise<number> {
  let fastest = first;
  for (let run = 1; run < RUNS_TO_PROVE; run += 1) {
    const before = process.cpuUsage();
    const ms = await timeOf(target, input);
    const { user, system } = process.cpuUsage(before);
    fastest = Math.min(fastest, ms, (user + system) / 1_000);
  }
  return fastest;
}

function shortened(input: unknown): string {
  const text = fc.stringify(input);
  return text.length <= 200 ? text : `${text.slice(0, 200)}… (${text.length} characters)`;
}
