import { wrongOption } from '../../check-options.ts';
import { createStatements } from '../sql/create-tables.ts';
import { upgradeScript } from '../sql/ensure-schema.ts';
import { tableNames } from '../sql/names.ts';
import { addCauses } from './postgres-days.ts';
import { POSTGRES } from './postgres-dialect.ts';
import { DEFAULT_PREFIX } from './postgres-store.ts';

/** Where the tables of `postgresStore` are: its options of the same names. */
export interface PostgresSchemaOptions {
  readonly schema?: string;
  readonly prefix?: string;
  /** 1: the statements that change tables of version 1 to those of this version. Default: those that create them. */
  readonly from?: 1;
}

/**
 * The statements that create the tables of `postgresStore`, as a script for `psql`: for an administrator, where the role
 * of the app may not create tables. Without that right there is no table for each day: all rows are kept in one, and old
 * ones are deleted in batches.
 *
 * @throws TypeError when a name is not allowed, or tables of no such version can be changed
 */
export function postgresSchema({
  schema,
  prefix = DEFAULT_PREFIX,
  from,
}: PostgresSchemaOptions = {}): string {
  if (from !== undefined && from !== 1) {
    throw wrongOption('postgresSchema', 'from', '1, the version of the tables', from);
  }
  const names = tableNames(schema ?? null, prefix);
  const first = schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS "${schema}"`];
  const statements =
    from === undefined
      ? [...first, ...createStatements(POSTGRES, names)]
      : upgradeScript(from, names, addCauses(names));
  return `BEGIN;\n${statements.map((one) => `${one};\n`).join('')}COMMIT;\n`;
}
