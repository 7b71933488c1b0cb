import type { Bench } from './bench.ts';

/**
 * The cases of one part: each title describes a behaviour, each function rejects when the behaviour is
 * missing, and calls `bench.skip` when the source has nothing that would show it.
 */
export type Checks = Readonly<Record<string, (bench: Bench) => Promise<void>>>;
