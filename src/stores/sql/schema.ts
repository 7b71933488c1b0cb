/** Tables and indexes of the store, their versions and their names. */
import type { SqlDatabase, SqlDialect, SqlType } from './sql-database.ts';

/** The schema that this code writes. */
export const SCHEMA_VERSION = 1;

/** Columns of a stored task, in the order in which they are written. */
export const TASK_COLUMNS = [
  ['source_id', 'integer'],
  ['id', 'text'],
  ['day', 'integer'],
  ['version', 'integer'],
  ['is_open', 'integer'],
  ['state', 'text'],
  ['name', 'text'],
  ['worker', 'text'],
  ['queue', 'text'],
  ['root_id', 'text'],
  ['parent_id', 'text'],
  ['group_id', 'text'],
  ['chord_id', 'text'],
  ['changed', 'real'],
  ['received', 'real'],
  ['started', 'real'],
  ['finished', 'real'],
  ['runtime', 'real'],
  ['record', 'text'],
  ['texts', 'text'],
] as const satisfies readonly (readonly [string, SqlType])[];

export type TaskColumn = (typeof TASK_COLUMNS)[number][0];

const KEY: readonly TaskColumn[] = ['source_id', 'id', 'day'];
const REQUIRED: readonly TaskColumn[] = [...KEY, 'version', 'is_open', 'state', 'record'];

/** Indexes, by the end of their name. Those with a condition hold few tasks. */
const INDEXES: readonly (readonly [name: string, columns: string, where?: string])[] = [
  ['changed', 'source_id, changed'],
  ['state', 'source_id, state, changed'],
  ['name', 'source_id, name, changed'],
  ['root', 'source_id, root_id', 'root_id IS NOT NULL AND root_id <> id'],
  ['group', 'source_id, group_id', 'group_id IS NOT NULL'],
  ['open', 'source_id, changed', 'is_open = 1'],
];

/** Quoted names of the tables. */
export interface TableNames {
  readonly meta: string;
  readonly source: string;
  readonly lease: string;
  readonly task: string;
  /** Quotes the name of another table, or of an index, of this store. */
  of(name: string): string;
}

/** A name that needs no quotes. It is quoted all the same. */
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** Whether a name of a schema, or the beginning of table names, is allowed. */
export function isSqlName(name: string): boolean {
  return NAME.test(name);
}

/** @param schema of PostgreSQL; `null`: the one that the connection is set to */
export function tableNames(schema: string | null, prefix: string): TableNames {
  const of = (name: string): string =>
    schema === null ? `"${prefix}${name}"` : `"${schema}"."${prefix}${name}"`;
  return { meta: of('meta'), source: of('source'), lease: of('lease'), task: of('task'), of };
}

/** The statements that create the store, without partitions. */
export function createStatements(dialect: SqlDialect, names: TableNames, prefix: string): string {
  const columns = TASK_COLUMNS.map(([name, type]) => {
    const isRequired = REQUIRED.includes(name);
    return `${name} ${dialect.type(type)}${isRequired ? ' NOT NULL' : ''}`;
  });
  const text = dialect.type('text');
  const integer = dialect.type('integer');
  const isPartitioned = dialect.name === 'postgres';
  return [
    `CREATE TABLE IF NOT EXISTS ${names.meta} (key ${text} PRIMARY KEY, value ${text} NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS ${names.source} (name ${text} PRIMARY KEY, id ${integer} NOT NULL UNIQUE, deployment ${text})`,
    `CREATE TABLE IF NOT EXISTS ${names.lease} (source_id ${integer} PRIMARY KEY, holder ${text} NOT NULL, expires_at ${dialect.type('real')} NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS ${names.task} (${columns.join(', ')}, PRIMARY KEY (${KEY.join(', ')}))${isPartitioned ? ' PARTITION BY RANGE (day)' : ''}`,
    ...INDEXES.map(
      ([name, on, where]) =>
        `CREATE INDEX IF NOT EXISTS "${prefix}task_${name}" ON ${names.task} (${on})${where === undefined ? '' : ` WHERE ${where}`}`,
    ),
    `INSERT INTO ${names.meta} (key, value) VALUES ('schema', '${SCHEMA_VERSION}') ON CONFLICT (key) DO NOTHING`,
  ].join(';\n');
}

/**
 * The version of the schema in the database.
 *
 * @returns `null` when there is none
 */
export async function schemaVersion(database: SqlDatabase, names: TableNames): Promise<number | null> {
  const rows = await database.query(`SELECT value FROM ${names.meta} WHERE key = 'schema'`);
  const value = rows[0]?.value;
  return value === undefined || value === null ? null : Number(value);
}
