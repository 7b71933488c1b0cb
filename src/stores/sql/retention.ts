/** Drops the tasks and relations of old days: in short transactions, however many they are. */
import { type DayTables, presentDay } from './days.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';

/** Rows of one transaction: SQLite lets nobody else write meanwhile, for 0.1 s on a slow machine. */
const BATCH = 500;

const TASK_KEY = TABLES.task.key.join(', ');
const RELATION_KEY = TABLES.relation.key.join(', ');

/**
 * The tables of a day hold the rows of all sources. They are dropped once no source keeps that day; until then, the
 * rows of a source that keeps fewer days are deleted in batches.
 */
export async function dropDaysBefore(
  source: SourceDatabase,
  days: DayTables | null,
  day: number,
): Promise<void> {
  const { database, names } = source;
  const today = presentDay();
  await source.write(
    `UPDATE ${names.source} SET kept_days = $2 WHERE id = $1 AND kept_days <> $2`,
    today - day,
  );
  const rows = await database.read(`SELECT id, kept_days FROM ${names.source} WHERE id > $1`, [0]);
  const kept = new Map(rows.map(([id, count]) => [Number(id), Number(count)]));
  const firstKept = Math.min(day, today - Math.max(...kept.values()));
  const own = await source.id();
  for (const id of kept.keys()) await moveOpen(source, id, id === own ? day : firstKept, today);
  await days?.dropBefore(firstKept);
  await deleteBefore(source, names.relation, RELATION_KEY, day);
  await deleteBefore(source, names.task, TASK_KEY, day);
  await days?.prepare(today);
}

/** Moves tasks that have not ended to the present day, and before them the relations that lead to them. */
async function moveOpen(
  { database, names: { task, relation } }: SourceDatabase,
  id: number,
  day: number,
  today: number,
): Promise<void> {
  const move = (table: string, key: string, from: string, isThere: string): Promise<void> =>
    untilFewer(() =>
      database.write(
        `UPDATE ${table} SET day = $3 WHERE (${key}) IN
           (SELECT ${key.replaceAll(/\w+/g, 'old.$&')} FROM ${from}
            WHERE old.source_id = $1 AND old.day < $2 AND is_open = 1 AND NOT EXISTS (SELECT 1 FROM ${table} AS known WHERE ${isThere} AND known.day = $3)
            LIMIT ${BATCH}) RETURNING day`,
        [id, day, today],
      ),
    );
  await move(
    relation,
    RELATION_KEY,
    `${relation} AS old JOIN ${task} AS task ON task.source_id = $1 AND task.id = old.child AND task.day < $2`,
    'known.source_id = $1 AND known.child = old.child AND known.relation = old.relation AND known.parent = old.parent',
  );
  // A task of the present day with the same id was written later, and holds.
  await move(task, TASK_KEY, `${task} AS old`, 'known.source_id = $1 AND known.id = old.id');
}

async function deleteBefore(source: SourceDatabase, table: string, key: string, day: number): Promise<void> {
  const row = source.database.dialect.rowId ?? key;
  await untilFewer(() =>
    source.write(
      `DELETE FROM ${table} WHERE (${row}) IN
         (SELECT ${row} FROM ${table} WHERE source_id = $1 AND day < $2 LIMIT ${BATCH}) RETURNING day`,
      day,
    ),
  );
}

/** Repeats a step until it finds fewer rows than it may take. */
async function untilFewer(step: () => Promise<readonly unknown[]>): Promise<void> {
  let found: number;
  do {
    found = (await step()).length;
  } while (found >= BATCH);
}
