/**
 * How much a test tries. `npm test` tries a sample of the cases, and `npm run test:live` runs the files of `SAMPLED`
 * (settings.ts) for the rest of them, so that no case runs twice. To try all at once, set TASK_MONITOR_CASES=all.
 */
const CASES = (process.env.TASK_MONITOR_CASES ?? 'sample') as 'sample' | 'rest' | 'all';
const SHARE = 8;

/** How many random cases to try. */
export function runs(all: number): number {
  const sampled = Math.ceil(all / SHARE);
  return { sample: sampled, rest: all - sampled, all }[CASES];
}

/** The seed of random cases: those that the sample leaves to the rest are others. */
export const seedOf = (seed: number): number => (CASES === 'rest' ? seed + 1_000 : seed);

/** Every eighth case of a list, so that each kind of case in it is among them. */
export function sample<Case>(all: readonly Case[]): readonly Case[] {
  return all.filter((_, index) => CASES === 'all' || (index % SHARE === 0) === (CASES === 'sample'));
}

/** The first case of a list of few, which take long. */
export function firstOf<Case>(all: readonly Case[]): readonly Case[] {
  return { sample: all.slice(0, 1), rest: all.slice(1), all }[CASES];
}

/** Whether to try a case, of which the test itself says whether it is one of the sample. */
export function among(isSample: boolean): boolean {
  return { sample: isSample, rest: !isSample, all: true }[CASES];
}

/** Declares tests that have no cases to choose from: the rest of the others does not run them again. */
export function unsampled(declare: () => void): void {
  if (CASES !== 'rest') declare();
}
