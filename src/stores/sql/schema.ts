/** Tables of the store, as data. */
import type { SqlColumn, SqlDialect } from './sql-database.ts';

/** The schema that this code writes. */
export const SCHEMA_VERSION = 3;

/** The tables whose rows are kept by day. */
export const DAY_TABLES = ['task', 'relation'] as const;
export type DayTable = (typeof DAY_TABLES)[number];

/** Number of counts of a rollup. */
const ROLLUP_COUNTS = 9;

/** A table: its columns, those of them that may be unknown, and its key. */
export interface Table {
  readonly columns: readonly SqlColumn[];
  readonly optional: readonly string[];
  readonly key: readonly string[];
  /** Whether old days are dropped as a whole. */
  readonly isByDay?: boolean;
  /** Whether rows are read in the order of the key. */
  readonly isClustered?: boolean;
}

/** Counts of a rollup, each in a column of its own, so that the database adds them up. */
export const COUNT_COLUMNS: readonly SqlColumn[] = Array.from(
  { length: ROLLUP_COUNTS },
  (_, at) => [`count_${at}`, 'real'] as const,
);

/** The tables whose rows belong to a source, by the end of their name. */
export const TABLES = {
  lease: {
    columns: [
      ['source_id', 'integer'],
      ['holder', 'text'],
      ['expires_at', 'real'],
      ['contender', 'text'],
      ['contended_at', 'real'],
    ],
    optional: ['contender', 'contended_at'],
    key: ['source_id'],
  },
  task: {
    columns: [
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
      ['cause', 'text'],
    ],
    optional: [
      ...['name', 'worker', 'queue', 'root_id', 'parent_id', 'group_id', 'chord_id'],
      ...['changed', 'received', 'started', 'finished', 'runtime', 'texts', 'cause'],
    ],
    key: ['source_id', 'id', 'day'],
    isByDay: true,
  },
  relation: {
    columns: [
      ['source_id', 'integer'],
      ['child', 'text'],
      ['relation', 'text'],
      // A key may not be unknown: '' stands for an unknown parent, and any other is written behind a '='.
      ['parent', 'text'],
      ['day', 'integer'],
    ],
    optional: [],
    key: ['source_id', 'child', 'relation', 'parent', 'day'],
    isByDay: true,
  },
  feed: {
    columns: [
      ['source_id', 'integer'],
      ['number', 'real'],
      ['instance', 'text'],
      ['items', 'text'],
      ['item_count', 'integer'],
      ['added_at', 'real'],
    ],
    optional: [],
    key: ['source_id', 'number'],
  },
  snapshot: {
    columns: [
      ['source_id', 'integer'],
      ['kind', 'text'],
      ['content', 'text'],
      ['revision', 'real'],
    ],
    optional: [],
    key: ['source_id', 'kind'],
  },
  rollup: {
    columns: [
      ['source_id', 'integer'],
      ['span', 'integer'],
      ['level', 'integer'],
      ['start_at', 'real'],
      ['name', 'text'],
      ['queue', 'text'],
      ['worker', 'text'],
      ['writer', 'text'],
      ['weight', 'real'],
      ...COUNT_COLUMNS,
      ['times', 'text'],
    ],
    optional: ['times'],
    key: ['source_id', 'span', 'level', 'start_at', 'name', 'queue', 'worker', 'writer'],
    isClustered: true,
  },
  cause: {
    columns: [
      ['source_id', 'integer'],
      ['id', 'text'],
      ['exception', 'text'],
      ['message', 'text'],
      ['frame', 'text'],
      ['first_seen', 'real'],
      ['last_seen', 'real'],
    ],
    optional: ['exception', 'message', 'frame'],
    key: ['source_id', 'id'],
  },
} as const satisfies Readonly<Record<string, Table>>;

/** A name of a table or index. It needs no quotes, but is quoted. */
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** PostgreSQL cuts longer names. */
const LONGEST = 63;
/** The longest name of a table or index, behind the prefix: an index of a partition. */
const LONGEST_SUFFIX = 'task_d999999_search'.length;

/** Most characters of a prefix. */
export const LONGEST_PREFIX: number = LONGEST - LONGEST_SUFFIX;

/** Quoted names of the tables. */
export interface TableNames {
  /** `null`: the schema that connections are set to. */
  readonly schema: string | null;
  readonly prefix: string;
  readonly meta: string;
  readonly source: string;
  readonly lease: string;
  readonly task: string;
  readonly relation: string;
  readonly feed: string;
  readonly snapshot: string;
  readonly rollup: string;
  readonly cause: string;
  /** Quotes the name of another table of this store. */
  of(name: string): string;
  /** Quotes the name of an index of this store, which is created in the schema of its table. */
  index(name: string): string;
}

/** Whether a name of a schema is allowed. */
export function isSchemaName(name: string): boolean {
  return NAME.test(name);
}

/** Whether names of tables may begin like this. */
export function isTablePrefix(prefix: string): boolean {
  return NAME.test(prefix) && prefix.length <= LONGEST_PREFIX;
}

/**
 * @param schema of PostgreSQL; `null`: the one that connections are set to
 * @throws TypeError when a name is not allowed
 */
export function tableNames(schema: string | null, prefix: string): TableNames {
  if (schema !== null && !isSchemaName(schema))
    throw new TypeError(
      'The schema must be lower-case letters, digits and _, and must not begin with a digit.',
    );
  if (!isTablePrefix(prefix))
    throw new TypeError(
      `The prefix of the tables must be lower-case letters, digits and _, must not begin with a digit, and may have at most ${LONGEST_PREFIX} characters.`,
    );
  const of = (name: string): string =>
    schema === null ? `"${prefix}${name}"` : `"${schema}"."${prefix}${name}"`;
  return {
    schema,
    prefix,
    meta: of('meta'),
    source: of('source'),
    lease: of('lease'),
    task: of('task'),
    relation: of('relation'),
    feed: of('feed'),
    snapshot: of('snapshot'),
    rollup: of('rollup'),
    cause: of('cause'),
    of,
    index: (name) => `"${prefix}${name}"`,
  };
}

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
