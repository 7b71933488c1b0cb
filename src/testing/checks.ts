import type { Bench } from './bench.ts';

/** Cases of one part: a sentence of behaviour, and what finds out whether it is so. */
export type Checks = Readonly<Record<string, (bench: Bench) => Promise<void>>>;
