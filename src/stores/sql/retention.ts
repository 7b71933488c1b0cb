/** Drops the tasks and relations of old days: in short transactions, however many they are. */

import { DAY_TABLES, type DayTable, type DayTables, ROWS_AT_ONCE, untilFewer } from './days.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';

/**
 * The tables of a day hold the rows of all sources. They are dropped once no source keeps that day; until then, the
 * rows of a source that keeps fewer days are deleted in batches.
 */
export async function dropDaysBefore(
  source: SourceDatabase,
  days: DayTables,
  day: number,
  today: number,
): Promise<void> {
  const { database, names } = source;
  await source.write(
    `UPDATE ${names.source} SET kept_days = $2 WHERE id = $1 AND kept_days <> $2`,
    today - day,
  );
  const rows = await database.read(`SELECT id, kept_days FROM ${names.source} WHERE id > $1`, [0]);
  const kept = new Map(rows.map(([id, count]) => [Number(id), Number(count)]));
  const firstKept = Math.min(day, today - Math.max(...kept.values()));
  const own = await source.id();
  for (const id of kept.keys()) {
    const before = id === own ? day : firstKept;
    await days.moveOpen(id, before, today);
  }
  await days.dropBefore(firstKept, today);
  for (const table of DAY_TABLES.toReversed()) await deleteBefore(source, days, table, day);
  await days.prepare(today);
}

async function deleteBefore(
  source: SourceDatabase,
  days: DayTables,
  table: DayTable,
  day: number,
): Promise<void> {
  const row = source.database.dialect.rowId ?? TABLES[table].key.join(', ');
  for (const name of await days.tablesBefore(table, day))
    await untilFewer(() =>
      source.write(
        `DELETE FROM ${name} WHERE (${row}) IN
         (SELECT ${row} FROM ${name} WHERE source_id = $1 AND day < $2 LIMIT ${ROWS_AT_ONCE}) RETURNING day`,
        day,
      ),
    );
}
