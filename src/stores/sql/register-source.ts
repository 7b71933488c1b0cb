/** The row of a source: its number, by which its rows are kept, and the deployment that it watches. */
import type { StoreOpening } from '../../history/store.ts';
import type { TableNames } from './names.ts';
import type { SqlDatabase } from './sql-database.ts';
import { isStoreError, StoreError } from './store-error.ts';
import { toColumn } from './text-key.ts';

/** Other instances may register other sources at the same time. */
const ATTEMPTS = 10;

/**
 * Finds the number of a source, and registers it first if it is new.
 *
 * @param keptDays for how many days its tasks are kept
 * @throws StoreError when another deployment has this name, or when it is not registered and may not be
 */
export async function registerSource(
  database: SqlDatabase,
  names: TableNames,
  { source, deployment, isReadOnly }: StoreOpening,
  keptDays: number,
): Promise<number> {
  const name = toColumn(source);
  const given = deployment === null ? null : toColumn(deployment);
  for (let attempt = 1; ; attempt++) {
    const [row] = await database.read(`SELECT id, deployment FROM ${names.source} WHERE name = $1`, [name]);
    if (row !== undefined) {
      const [id, known] = row;
      if (known === given || given === null || (known === null && isReadOnly)) return Number(id);
      if (known !== null) {
        throw new StoreError('source_taken', `Another deployment writes under the name '${source}'.`);
      }
      await database.write(
        `UPDATE ${names.source} SET deployment = $2 WHERE name = $1 AND deployment IS NULL`,
        [name, given],
      );
    } else if (isReadOnly) {
      throw new StoreError('source_missing', `The database has no history of the source '${source}'.`);
    } else {
      await insert(database, names, [name, given, keptDays]);
    }
    if (attempt === ATTEMPTS)
      throw new StoreError('conflict', 'Too many instances register sources at once.');
  }
}

async function insert(
  database: SqlDatabase,
  names: TableNames,
  values: readonly [name: string, deployment: string | null, keptDays: number],
): Promise<void> {
  try {
    await database.write(
      `INSERT INTO ${names.source} (name, id, deployment, kept_days)
       SELECT $1, coalesce(max(id), 0) + 1, $2, CAST($3 AS integer) FROM ${names.source} WHERE true
       ON CONFLICT DO NOTHING`,
      values,
    );
  } catch (error) {
    // Another source has got the same number.
    if (!isStoreError(error, 'conflict')) throw error;
  }
}
