/** Opens the store in a SQL database: creates or checks the tables, and registers the source. */

import { createStatements, SCHEMA_VERSION, schemaVersion, type TableNames } from './schema.ts';
import type { SqlDatabase } from './sql-database.ts';
import { createSqlSession, type SqlSession } from './sql-session.ts';
import { StoreError } from './store-error.ts';

/** How a store is opened. */
export interface OpenOptions {
  readonly names: TableNames;
  /** Beginning of the names of all tables and indexes. */
  readonly prefix: string;
  /** Name of the source, under which its rows are kept. */
  readonly source: string;
  /** Identifies the deployment that the source watches; `null`: it cannot be told. */
  readonly deployment: string | null;
  /** Nothing is created, registered or written. */
  readonly isReadOnly: boolean;
}

/** Tables are created by several instances at once, and one of them may come too late. */
const ATTEMPTS = 3;

/**
 * @throws StoreError when the schema is newer than this code, is missing and may not be created, or when another
 *   deployment writes under this name
 */
export async function openSqlStore(database: SqlDatabase, options: OpenOptions): Promise<SqlSession> {
  const { names, prefix, isReadOnly } = options;
  if (!isReadOnly) await create(database, names, prefix);
  await checkVersion(database, names);
  const sourceId = await registerSource(database, options);
  return createSqlSession({ database, names, prefix, sourceId });
}

async function create(database: SqlDatabase, names: TableNames, prefix: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.script(createStatements(database.dialect, names, prefix));
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function checkVersion(database: SqlDatabase, names: TableNames): Promise<void> {
  const version = await schemaVersion(database, names);
  if (version === null)
    throw new StoreError(
      'schema_missing',
      'The database has no history yet. Start an instance that may create its tables.',
    );
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      'schema_newer',
      `The history has schema ${version}, and this version of express-task-monitor knows ${SCHEMA_VERSION}. Upgrade it.`,
    );
  }
}

async function registerSource(
  database: SqlDatabase,
  { names, source, deployment, isReadOnly }: OpenOptions,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const [row] = await database.query(`SELECT id, deployment FROM ${names.source} WHERE name = $1`, [
      source,
    ]);
    if (row !== undefined) {
      const isOther = deployment !== null && row.deployment !== null && row.deployment !== deployment;
      if (!isOther) return Number(row.id);
      throw new StoreError(
        'source_taken',
        `Another deployment writes under the name '${source}'. Give one of them another name: celerySources({ name }).`,
      );
    }
    if (isReadOnly) throw new StoreError('source_missing', `The database has no history of '${source}'.`);
    try {
      await database.query(
        `INSERT INTO ${names.source} (name, id, deployment)
         SELECT $1, coalesce(max(id), 0) + 1, $2 FROM ${names.source} WHERE true ON CONFLICT (name) DO NOTHING`,
        [source, deployment],
      );
    } catch (error) {
      // Another instance has registered another source with the same number.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
