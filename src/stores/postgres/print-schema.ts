/** The statements with which an administrator creates the tables, for roles that may not. */
import { tableNames } from '../sql/names.ts';
import { createStatements } from '../sql/schema.ts';
import { POSTGRES } from './postgres-dialect.ts';

/** Where the tables are. */
export interface PostgresTables {
  /** `null`: the schema that connections are set to. */
  readonly schema: string | null;
  /** Beginning of the names of all tables and indexes. */
  readonly prefix: string;
}

/**
 * The statements that create the tables, as a script for `psql`. Tables of single days are not among them: without the
 * right to create and drop these, all rows are kept in one table, and old ones are deleted in batches.
 */
export function printPostgresSchema({ schema, prefix }: PostgresTables): string {
  const statements = createStatements(POSTGRES, tableNames(schema, prefix));
  const first = schema === null ? [] : [`CREATE SCHEMA IF NOT EXISTS "${schema}"`];
  return `BEGIN;\n${[...first, ...statements].map((one) => `${one};\n`).join('')}COMMIT;\n`;
}
