import { ROWS_AT_ONCE, untilFewer } from '../sql/days.ts';
import type { TableNames } from '../sql/names.ts';
import { TABLES } from '../sql/schema.ts';
import type { SqlDatabase } from '../sql/sql-database.ts';

const TASK_KEY = TABLES.task.key.join(', ');
const RELATION_KEY = TABLES.relation.key.join(', ');

/**
 * Moves tasks of a source that have not ended to the present day, and before them the relations that lead to them. The
 * database moves a row to another partition when its day changes.
 */
export async function moveOpen(
  database: SqlDatabase,
  { task, relation }: TableNames,
  ...[source, before, today]: readonly [source: number, before: number, today: number]
): Promise<void> {
  const move = (table: string, key: string, from: string, isThere: string): Promise<void> =>
    untilFewer(() =>
      database.write(
        `UPDATE ${table} SET day = $3 WHERE (${key}) IN
           (SELECT ${key.replaceAll(/\w+/g, 'old.$&')} FROM ${from}
            WHERE old.source_id = $1 AND old.day < $2 AND is_open = 1 AND NOT EXISTS (SELECT 1 FROM ${table} AS known WHERE ${isThere} AND known.day = $3)
            LIMIT ${ROWS_AT_ONCE}) RETURNING day`,
        [source, before, today],
      ),
    );
  await move(
    relation,
    RELATION_KEY,
    `${relation} AS old JOIN ${task} AS task ON task.source_id = $1 AND task.id = old.child AND task.day < $2`,
    'known.source_id = $1 AND known.child = old.child AND known.relation = old.relation AND known.parent = old.parent',
  );
  // A task of the present day with the same id was written later, and is kept.
  await move(task, TASK_KEY, `${task} AS old`, 'known.source_id = $1 AND known.id = old.id');
}
