/**
 * The differences between databases, as SQL expressions. Values arrive as texts and whole numbers: drivers differ in
 * how they read dates, bytes and big numbers.
 */
import type { CelerySqlOptions, TableName } from './sql-options.ts';

/** The expressions of one database. Columns are quoted names. */
export interface SqlDialect {
  readonly name: CelerySqlOptions['dialect'];
  /** Writes the placeholders of this database for each `?`. */
  bind(text: string): string;
  /** Quotes the name of a column. */
  column(name: string): string;
  /** Quotes the name of a table. */
  table(name: TableName): string;
  /**
   * A date as `YYYY-MM-DDTHH:MM:SS.ffffff`, followed by `Z` if its column has a time zone.
   *
   * @param type of the column, as {@link SqlDialect.columns} names it
   */
  time(column: string, type: string): string;
  /** The placeholder of a date, given in the form that {@link SqlDialect.time} writes. */
  timeValue(type: string): string;
  /** The placeholder of a whole number, which is given as text. */
  integerValue: string;
  /** The clock of the database, as milliseconds since 1970. */
  readonly now: string;
  /** The first characters of a text; SQLite: NULL for one of more than a megabyte. */
  head(column: string, length: number): string;
  /** The first bytes of a binary column, in hexadecimal; SQLite: as {@link SqlDialect.head}. */
  hexHead(column: string, length: number): string;
  /** The size of a text or of bytes, in bytes, found out without reading it. */
  size(column: string): string;
  /** Lists `name` and `type` of the columns of a table; none if it does not exist. */
  columns(table: TableName): SqlQuestion;
  /** Lists as `name` the columns with which an index of the whole table begins, besides the primary key. */
  indexed(table: TableName): SqlQuestion;
}

/** A statement with its values. */
interface SqlQuestion {
  readonly text: string;
  readonly values: readonly string[];
}

const quoted = (name: string): string => `"${name}"`;
const pathOf = ({ schema, name }: TableName, quote: (part: string) => string): string =>
  schema === null ? quote(name) : `${quote(schema)}.${quote(name)}`;

const WITH_ZONE = 'timestamp with time zone';

const postgres: SqlDialect = {
  name: 'postgres',
  bind(text) {
    let count = 0;
    return text.replaceAll('?', () => `$${++count}`);
  },
  column: quoted,
  table: (name) => pathOf(name, quoted),
  time: (column, type) =>
    type === WITH_ZONE
      ? `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
      : `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US')`,
  // Given as text: postgres.js would convert a value that it takes for a date.
  timeValue: (type) => `?::text::${type === WITH_ZONE ? 'timestamptz' : 'timestamp'}`,
  integerValue: '?::text::bigint',
  now: 'floor(extract(epoch FROM clock_timestamp()) * 1000)::text',
  head: (column, length) => `left(${column}, ${length})`,
  hexHead: (column, length) => `encode(substr(${column}, 1, ${length}), 'hex')`,
  size: (column) => `octet_length(${column})`,
  columns: (table) => ({
    text:
      'SELECT attname::text AS name, format_type(atttypid, NULL)::text AS type FROM pg_attribute ' +
      'WHERE attrelid = to_regclass(?::text) AND attnum > 0 AND NOT attisdropped',
    values: [pathOf(table, quoted)],
  }),
  indexed: (table) => ({
    text:
      'SELECT a.attname::text AS name FROM pg_index i JOIN pg_attribute a ' +
      'ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] ' +
      'WHERE i.indrelid = to_regclass(?::text) AND i.indisvalid AND i.indpred IS NULL AND NOT i.indisprimary',
    values: [pathOf(table, quoted)],
  }),
};

const backquoted = (name: string): string => `\`${name}\``;

const mysql: SqlDialect = {
  name: 'mysql',
  bind: (text) => text,
  column: backquoted,
  table: (name) => pathOf(name, backquoted),
  time: (column) => `DATE_FORMAT(${column}, '%Y-%m-%dT%H:%i:%s.%f')`,
  timeValue: () => 'CAST(? AS DATETIME(6))',
  integerValue: 'CAST(? AS SIGNED)',
  now: 'CAST(FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR)',
  head: (column, length) => `LEFT(${column}, ${length})`,
  hexHead: (column, length) => `HEX(SUBSTRING(${column}, 1, ${length}))`,
  size: (column) => `OCTET_LENGTH(${column})`,
  columns: ({ schema, name }) => ({
    text: `SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = ${schema === null ? 'DATABASE()' : '?'} AND table_name = ?`,
    values: schema === null ? [name] : [schema, name],
  }),
  indexed: ({ schema, name }) => ({
    text: `SELECT column_name AS name FROM information_schema.statistics WHERE table_schema = ${schema === null ? 'DATABASE()' : '?'} AND table_name = ? AND seq_in_index = 1 AND index_name <> 'PRIMARY'`,
    values: schema === null ? [name] : [schema, name],
  }),
};

const octets = (column: string): string => `octet_length(${column})`;
/** SQLite reads all of a text to find its beginning. Longer ones, in bytes, are left out. */
const LONGEST_READ = 1024 * 1024;
const ifShort = (column: string, part: string): string =>
  `CASE WHEN ${octets(column)} <= ${LONGEST_READ} THEN ${part} END`;

/**
 * The same statement for a SQLite before 3.43. The size of a text then has to be found by reading it.
 *
 * @returns the statement as it is where it needs no such change
 */
export function withoutOctetLength(text: string): string {
  return text.replaceAll(/octet_length\(([^()]*)\)/g, 'length(CAST($1 AS BLOB))');
}

const sqlite: SqlDialect = {
  name: 'sqlite',
  bind: (text) => text,
  column: quoted,
  table: (name) => pathOf(name, quoted),
  time: (column) => `replace(${column}, ' ', 'T')`,
  // Compared as text: Django and SQLAlchemy write a space between date and time.
  timeValue: () => "replace(?, 'T', ' ')",
  integerValue: 'CAST(? AS INTEGER)',
  now: "CAST(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS TEXT)",
  head: (column, length) => ifShort(column, `substr(${column}, 1, ${length})`),
  hexHead: (column, length) => ifShort(column, `hex(substr(${column}, 1, ${length}))`),
  size: octets,
  columns: ({ schema, name }) => ({
    text: `SELECT name, lower(type) AS type FROM pragma_table_info(?${schema === null ? '' : ', ?'})`,
    values: schema === null ? [name] : [name, schema],
  }),
  indexed: ({ schema, name }) => ({
    text: `SELECT c.name AS name FROM pragma_index_list(?${schema === null ? '' : ', ?'}) i JOIN pragma_index_info(i.name${schema === null ? '' : ', ?'}) c WHERE c.seqno = 0 AND i.partial = 0`,
    values: schema === null ? [name] : [name, schema, schema],
  }),
};

/** The dialects by their names. */
export const DIALECTS: Readonly<Record<CelerySqlOptions['dialect'], SqlDialect>> = {
  postgres,
  mysql,
  sqlite,
};
