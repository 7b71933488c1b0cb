import { createStatements } from '../sql/create-tables.ts';
import { tableNames } from '../sql/names.ts';
import { POSTGRES } from './postgres-dialect.ts';
import { DEFAULT_PREFIX } from './postgres-store.ts';

/** Where the tables of `postgresStore` are: its options of the same names. */
export interface PostgresSchemaOptions {
  readonly schema?: string;
  readonly prefix?: string;
}

/**
 * The statements that create the tables of `postgresStore`, as a script for `psql`: for an administrator, where the role
 * of the app may not create tables. Without that right there is no table for each day: all rows are kept in one, and old
 * ones are deleted in batches.
 *
 * @throws TypeError when a name is not allowed
 */
export function postgresSchema({ schema, prefix = DEFAULT_PREFIX }: PostgresSchemaOptions = {}): string {
  const names = tableNames(schema ?? null, prefix);
  const first = schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS "${schema}"`];
  const statements = [...first, ...createStatements(POSTGRES, names)];
  return `BEGIN;\n${statements.map((one) => `${one};\n`).join('')}COMMIT;\n`;
}
