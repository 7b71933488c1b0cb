/** Days, by which tasks and relations are kept and dropped. */

/** What only PostgreSQL has: a table for each day, and an index for searches. */
export interface DayTables {
  /** Creates the tables of the coming days, as far as this instance may. */
  prepare(today: number): Promise<void>;
  /** Drops the tables of the days before this one, as far as this instance may. */
  dropBefore(day: number): Promise<void>;
  /** Whether an index finds the texts that contain another text. */
  canSearch(): boolean;
}

const DAY_MS = 24 * 60 * 60_000;

/** The present day of UTC, counted from 1970. */
export function presentDay(): number {
  return Math.floor(Date.now() / DAY_MS);
}
