/** The statements that create the tables and indexes of the store. */
import type { TableNames } from './names.ts';
import { DAY_TABLES } from './retention.ts';
import { SCHEMA_VERSION, TABLES, type Table } from './schema.ts';
import type { SqlDialect } from './sql-database.ts';

/**
 * Indexes, by the end of their name. One for each filter of a list in the order of the last change, one for each other
 * order by time, and those that find open tasks and related tasks. Columns after `changed` decide a second filter
 * without reading the rows: failures of one name may be one row in five thousand.
 */
const INDEXES: readonly (readonly [
  name: string,
  table: keyof typeof TABLES,
  columns: string,
  where?: string,
])[] = [
  ['task_changed', 'task', 'source_id, changed'],
  ['task_state', 'task', 'source_id, state, changed'],
  ['task_name', 'task', 'source_id, name, changed, state, worker'],
  ['task_worker', 'task', 'source_id, worker, changed, state'],
  ['task_queue', 'task', 'source_id, queue, changed, state'],
  ['task_root', 'task', 'source_id, root_id, changed', 'root_id IS NOT NULL'],
  ['task_parent', 'task', 'source_id, parent_id, changed', 'parent_id IS NOT NULL'],
  ['task_cause', 'task', 'source_id, cause, changed, state, day', 'cause IS NOT NULL'],
  ['task_group', 'task', 'source_id, group_id, changed', 'group_id IS NOT NULL'],
  ['task_chord', 'task', 'source_id, chord_id', 'chord_id IS NOT NULL'],
  ['task_open', 'task', 'source_id, changed', 'is_open = 1'],
  ['task_received', 'task', 'source_id, received'],
  ['task_started', 'task', 'source_id, started'],
  ['task_finished', 'task', 'source_id, finished'],
  ['task_runtime', 'task', 'source_id, runtime'],
  ['relation_parent', 'relation', 'source_id, parent'],
];

/** The statements that create the store. */
export function createStatements(dialect: SqlDialect, names: TableNames): readonly string[] {
  const text = dialect.type('text');
  const integer = dialect.type('integer');
  return [
    `CREATE TABLE ${names.meta} (key ${text} PRIMARY KEY, value ${text} NOT NULL)`,
    `CREATE TABLE ${names.source} (name ${text} PRIMARY KEY, id ${integer} NOT NULL UNIQUE, deployment ${text}, kept_days ${integer} NOT NULL)`,
    ...Object.entries(TABLES).map(([name, table]) => createTable(dialect, names.of(name), table)),
    ...INDEXES.map(
      ([name, table, on, where]) =>
        `CREATE INDEX ${names.index(name)} ON ${names.of(table)} (${on})${where === undefined ? '' : ` WHERE ${where}`}`,
    ),
    ...DAY_TABLES.flatMap((name) => {
      // Rows that are not dropped with a table of their day are found by it.
      const table = dialect.byDay === null ? name : (`${name}_rest` as const);
      const index = `CREATE INDEX ${names.index(`${table}_day`)} ON ${names.of(table)} (source_id, day)`;
      if (table === name) return [index];
      return [`CREATE TABLE ${names.of(table)} PARTITION OF ${names.of(name)} DEFAULT`, index];
    }),
    `INSERT INTO ${names.meta} (key, value) VALUES ('schema', '${SCHEMA_VERSION}')`,
  ];
}

function createTable(dialect: SqlDialect, quoted: string, table: Table): string {
  const columns = table.columns.map(
    ([name, type]) => `${name} ${dialect.type(type)}${table.optional.includes(name) ? '' : ' NOT NULL'}`,
  );
  const end =
    table.isByDay === true ? (dialect.byDay ?? '') : table.isClustered === true ? dialect.clustered : '';
  return `CREATE TABLE ${quoted} (${columns.join(', ')}, PRIMARY KEY (${table.key.join(', ')}))${end}`;
}
