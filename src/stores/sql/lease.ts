/** The lease of a source, by the clock of the database. It needs no open connection. */
import { type LeaseState, LONGEST_LEASE_MS, type StoreLease } from '../../history/store.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow } from './sql-database.ts';
import { fromColumn, toColumn } from './task-row.ts';

export function createLease(source: SourceDatabase): StoreLease {
  const table = source.names.lease;
  const { now } = source.database.dialect;
  const isRunning = (end: string, at: string): string =>
    `${end} > ${at} AND ${end} <= ${at} + ${LONGEST_LEASE_MS}`;
  const isFree = `(held.holder = excluded.holder OR NOT (${isRunning('held.expires_at', now)}))`;
  const take = (column: string): string =>
    `${column} = CASE WHEN ${isFree} THEN excluded.${column} ELSE held.${column} END`;
  const read = `holder, CASE WHEN ${isRunning('expires_at', now)} THEN 1 ELSE 0 END, ${now}, contender, contended_at`;
  // One statement: an instance that may not take the lease notes that it wants it.
  const acquire = `INSERT INTO ${table} AS held (source_id, holder, expires_at)
    VALUES ($1, $2, ${now} + CAST($3 AS ${source.database.dialect.type('real')}))
    ON CONFLICT (source_id) DO UPDATE SET ${take('holder')}, ${take('expires_at')},
      contender = CASE WHEN ${isFree} THEN held.contender ELSE excluded.holder END,
      contended_at = CASE WHEN ${isFree} THEN held.contended_at ELSE ${now} END
    RETURNING ${read}`;
  return {
    async acquire(holder, forMs) {
      const [row] = await source.write(acquire, toColumn(holder), forMs);
      return stateOf(row, holder);
    },
    async look() {
      // Without a lease there is still a row, for the clock.
      const text = `SELECT holder, CASE WHEN ${isRunning('expires_at', 'clock.now')} THEN 1 ELSE 0 END, clock.now, contender, contended_at
        FROM (SELECT ${now} AS now) AS clock LEFT JOIN ${table} ON source_id = $1`;
      const [row] = await source.read(text);
      return stateOf(row, null);
    },
    async release(holder) {
      await source.write(
        `UPDATE ${table} SET expires_at = 0 WHERE source_id = $1 AND holder = $2`,
        toColumn(holder),
      );
    },
  };
}

function stateOf(row: SqlRow = [], instance: string | null): LeaseState {
  const [holder, isRunning, now, contender, contendedAt] = row;
  const isHeld = Number(isRunning) === 1;
  const isContended = contendedAt !== null && contendedAt !== undefined && !(isHeld && contender === holder);
  return {
    isHeld: isHeld && fromColumn(String(holder)) === instance,
    now: Number(now),
    holder: isHeld ? fromColumn(String(holder)) : null,
    contendedAt: isContended ? Number(contendedAt) : null,
  };
}
