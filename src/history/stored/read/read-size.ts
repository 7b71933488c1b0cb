/** How many tasks are read at once. A driver decodes everything that has arrived in one turn of the event loop. */
import type { StoredRecord } from '../../store.ts';

/** Tasks of the first read, whose size is unknown. A record may take 15 kB. */
export const FIRST_READ = 100;
/** The fewest and most of a later one. */
const FEWEST_READ = 50;
const MOST_READ = 1_000;
/** Characters of the records of one read, roughly. */
const READ_CHARACTERS = 500_000;

/**
 * @param tasks that were read last; records of one source are alike
 * @param bounds replace those for answers, of which several are read at the same time
 */
export function nextReadSize(
  tasks: readonly Pick<StoredRecord, 'record'>[],
  bounds: { readonly characters: number; readonly most: number } = {
    characters: READ_CHARACTERS,
    most: MOST_READ,
  },
): number {
  const read = tasks.reduce((sum, { record }) => sum + record.length, 0);
  const fitting = Math.floor((bounds.characters * tasks.length) / Math.max(1, read));
  return Math.max(FEWEST_READ, Math.min(bounds.most, fitting));
}
