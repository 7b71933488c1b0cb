import type { StoreEngine, StoreRetention } from '../../history/store.ts';
import { type Deadlines, guardDatabase } from '../sql/guarded-database.ts';
import { tableNames } from '../sql/names.ts';
import type { SqlDatabase } from '../sql/sql-database.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import type { PostgresClient } from './postgres-client.ts';
import { createPostgresDatabase } from './postgres-database.ts';
import { createPostgresDays } from './postgres-days.ts';
import { postgresSize } from './postgres-dialect.ts';
import { describePostgresError } from './postgres-errors.ts';

/** Parameters of a store in PostgreSQL. */
export interface PostgresStoreSettings {
  readonly client: PostgresClient;
  /** `null`: the schema that connections are set to. */
  readonly schema: string | null;
  /** Beginning of the names of all tables and indexes. */
  readonly prefix: string;
  readonly retention: StoreRetention;
  readonly isReadOnly: boolean;
  readonly deployment: string | null;
  readonly deadlines?: Deadlines;
}

/** @throws TypeError when a name is not allowed */
export function createPostgresStore(settings: PostgresStoreSettings): StoreEngine {
  const { client, schema, prefix, retention, isReadOnly, deployment, deadlines } = settings;
  const names = tableNames(schema, prefix);
  const database = guardDatabase(createPostgresDatabase(client), describePostgresError, deadlines);
  return createSqlStore({
    database,
    names,
    retention,
    isReadOnly,
    deployment,
    days: createPostgresDays(database, names),
    size: postgresSize(names),
    beforeTables: () => beforeTables(database, schema),
    afterTables: () => [],
  });
}

/** A role without the right to create schemas may not even say `IF NOT EXISTS`. */
async function beforeTables(database: SqlDatabase, schema: string | null): Promise<readonly string[]> {
  if (schema === null) return [];
  const [row] = await database.read('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  return row === undefined ? [`CREATE SCHEMA "${schema}"`] : [];
}
