/**
 * How much a test tries: a sample of its cases in `npm test`, all of them in `npm run test:live`, which runs the files
 * of `SAMPLED` (settings.ts) with this variable.
 */
export const ALL_CASES: boolean = process.env.TASK_MONITOR_CASES === 'all';
const SHARE = 8;

/** How many random cases to try. The sample is the beginning of the same sequence. */
export const runs = (all: number): number => (ALL_CASES ? all : Math.ceil(all / SHARE));

/** Every eighth case of a list, so that each kind of case in it is among them. */
export function sample<Case>(all: readonly Case[]): readonly Case[] {
  return ALL_CASES ? all : all.filter((_, index) => index % SHARE === 0);
}
