/** Drops the tasks and relations of old days: in short transactions, however many they are. */
import { DAY_TABLES, type DayTable, TABLES, type TableNames } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlDatabase } from './sql-database.ts';

/** Tables of single days, if the engine has them: these are dropped as a whole. Statements see one table of all days. */
export interface DayTables {
  /** Creates the tables of the coming days, as far as this instance may. */
  prepare(today: number): Promise<void>;
  /** Drops the tables of the days before this one, as far as this instance may. */
  dropBefore(day: number): Promise<void>;
  /** Whether an index finds the texts that contain another text. */
  canSearch(): boolean;
}

const DAY_MS = 24 * 60 * 60_000;
/** Most rows of one transaction that moves or deletes: SQLite lets nobody else write meanwhile. */
const ROWS_AT_ONCE = 500;

/** The present day of UTC, counted from 1970. */
export function presentDay(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/**
 * The table of a day has the rows of all sources. It is dropped once no source keeps that day; until then, the rows of a
 * source that keeps fewer days are deleted in batches.
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
  for (const id of kept.keys()) await moveOpen(database, names, [id, id === own ? day : firstKept, today]);
  await days.dropBefore(firstKept);
  for (const table of DAY_TABLES.toReversed()) await deleteBefore(source, table, day);
  await days.prepare(today);
}

/**
 * Moves tasks of a source that have not ended to the present day, and before them the relations that lead to them.
 * PostgreSQL moves a row to another partition when its day changes.
 */
async function moveOpen(
  database: SqlDatabase,
  { task, relation }: TableNames,
  values: readonly [source: number, before: number, today: number],
): Promise<void> {
  const move = (of: DayTable, table: string, from: string, isThere: string): Promise<void> => {
    const key = TABLES[of].key;
    return untilFewer(() =>
      database.write(
        `UPDATE ${table} SET day = $3 WHERE (${key.join(', ')}) IN
           (SELECT ${key.map((column) => `old.${column}`).join(', ')} FROM ${from}
            WHERE old.source_id = $1 AND old.day < $2 AND is_open = 1 AND NOT EXISTS (SELECT 1 FROM ${table} AS known WHERE ${isThere} AND known.day = $3)
            LIMIT ${ROWS_AT_ONCE}) RETURNING day`,
        values,
      ),
    );
  };
  await move(
    'relation',
    relation,
    `${relation} AS old JOIN ${task} AS task ON task.source_id = $1 AND task.id = old.child AND task.day < $2`,
    'known.source_id = $1 AND known.child = old.child AND known.relation = old.relation AND known.parent = old.parent',
  );
  // A task of the present day with the same id was written later, and is kept.
  await move('task', task, `${task} AS old`, 'known.source_id = $1 AND known.id = old.id');
}

async function deleteBefore(source: SourceDatabase, table: DayTable, day: number): Promise<void> {
  const { database, names } = source;
  const row = database.dialect.rowId ?? TABLES[table].key.join(', ');
  await untilFewer(() =>
    source.write(
      `DELETE FROM ${names[table]} WHERE (${row}) IN
         (SELECT ${row} FROM ${names[table]} WHERE source_id = $1 AND day < $2 LIMIT ${ROWS_AT_ONCE}) RETURNING day`,
      day,
    ),
  );
}

/** Repeats a step until it finds fewer than {@link ROWS_AT_ONCE}. */
async function untilFewer(step: () => Promise<readonly unknown[]>): Promise<void> {
  let found: number;
  do {
    found = (await step()).length;
  } while (found >= ROWS_AT_ONCE);
}
