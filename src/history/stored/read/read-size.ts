/** How many tasks are read at once. A driver takes in what has arrived in one turn of the event loop. */
import type { StoredTask } from '../../store.ts';

/** Tasks of the first read, whose size nobody knows. A record may take 15 kB. */
export const FIRST_READ = 100;
/** The fewest and most of a later one. */
const FEWEST_READ = 50;
const MOST_READ = 1_000;
/** Characters of the records of one read, roughly. */
const READ_CHARACTERS = 500_000;

/** @param tasks that were read last; records of one source are alike */
export function nextReadSize(tasks: readonly StoredTask[]): number {
  const read = tasks.reduce((sum, { record }) => sum + record.length, 0);
  const fitting = Math.floor((READ_CHARACTERS * tasks.length) / Math.max(1, read));
  return Math.max(FEWEST_READ, Math.min(MOST_READ, fitting));
}
