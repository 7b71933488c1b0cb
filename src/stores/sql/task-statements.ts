/** The statements about tasks. Every value is bound; names of tables come from `names.ts`. */
import type { StoredLink, StoredQuery } from '../../history/store.ts';
import { isFigureCondition, type TaskCondition, type TextCondition } from '../../source/task-query.ts';
import { assign, bounded, insertBatch, listColumns, without } from './batches.ts';
import { TABLES } from './schema.ts';
import type { SqlBatch, SqlDialect, SqlValue } from './sql-database.ts';
import { containing, prefixesInColumn, TASK_COLUMNS, type TaskColumn, toColumn } from './task-row.ts';

/** A statement, and its values after the number of the source. */
export interface Statement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** Where tasks are read from. */
export interface TaskTable {
  readonly dialect: SqlDialect;
  readonly table: string;
  /** Whether an index finds the records that contain a text. */
  readonly canSearch: boolean;
}

const READ = without(TASK_COLUMNS, 'source_id');
const WRITTEN = without(READ, 'id', 'day');

/** All columns, and those of a list: all but the long texts. */
const WHOLE = listColumns(READ)
  .replace(', record', `, ${bounded('record')}`)
  .replace(', texts', `, ${bounded('texts')}`);
const LISTED = WHOLE.replace(bounded('texts'), 'NULL AS texts');

/**
 * The text that a search examines: names, workers and texts are in the record. An index of PostgreSQL has this
 * expression.
 */
export const SEARCHED = "lower(id || ' ' || record)";

const LINKS: Readonly<Record<StoredLink, TaskColumn>> = {
  rootId: 'root_id',
  parentId: 'parent_id',
  groupId: 'group_id',
  chordId: 'chord_id',
};

/** The column of each order. */
const SORT_COLUMNS: Readonly<Record<StoredQuery['sort'], TaskColumn>> = {
  timestamp: 'changed',
  received: 'received',
  started: 'started',
  finished: 'finished',
  runtime: 'runtime',
  name: 'name',
  state: 'state',
};

/** Writes tasks for the first time. Those that are stored stay as they are. */
export function insertTasks(table: string): SqlBatch {
  return insertBatch(table, TASK_COLUMNS, 'ON CONFLICT (source_id, id, day) DO NOTHING RETURNING id');
}

/** Writes tasks again. Those that are stored in another version than the one before stay as they are. */
export function updateTasks(dialect: SqlDialect, table: string): SqlBatch {
  const isAmong = TASK_COLUMNS.slice(0, TABLES.task.key.length).map(([name, type], at) =>
    dialect.isGiven(name, type, at + 1),
  );
  return {
    columns: TASK_COLUMNS,
    text: `UPDATE ${table} AS stored SET ${assign(WRITTEN, 'given.new_')} FROM given
      WHERE source_id = new_source_id AND id = new_id AND day = new_day AND version = new_version - 1
        AND ${isAmong.join(' AND ')} RETURNING id`,
  };
}

/** What relates a task to others, and its name. */
export const RELATIVES = ['id', 'name', 'root_id', 'parent_id', 'group_id', 'chord_id'] as const;

/** Selections of columns: all, all but the long texts, those that memory absorbs, the relations, or only the id. */
export type TaskPart = 'whole' | 'listed' | 'record' | 'relatives' | 'id';

const PARTS: Readonly<Record<TaskPart, string>> = {
  whole: WHOLE,
  listed: LISTED,
  id: 'id',
  record: `id, root_id, changed, ${bounded('record')}`,
  relatives: RELATIVES.join(', '),
};

/** Reads tasks by their ids. */
export function readTasks({ dialect, table }: TaskTable, ids: readonly string[], part: TaskPart): Statement {
  const text = `SELECT ${PARTS[part]} FROM ${table} WHERE source_id = $1 AND ${dialect.isAny('id', 2)}`;
  return { text, values: [ids.map(toColumn)] };
}

/** Reads tasks that name one of these ids. */
export function linkedTasks(
  { dialect, table }: TaskTable,
  link: StoredLink,
  ids: readonly string[],
  most: number,
  part: TaskPart,
): Statement {
  const text = `SELECT ${PARTS[part]} FROM ${table} WHERE source_id = $1 AND ${dialect.isAny(LINKS[link], 2)} LIMIT $3`;
  return { text, values: [ids.map(toColumn), most] };
}

/** A part of a list: the rows with a value to sort by, or those without one, which come last in both orders. */
export interface ListPart {
  readonly hasKey: boolean;
  /** Only rows with this value to sort by, in the order of their ids. */
  readonly value?: string;
  /** Whether many rows have the value: they are read in the order of the key, others by the value and then sorted. */
  readonly isCommon?: boolean;
  /** The position of the row before, in this part; `null`: from its start. */
  readonly after: StoredQuery['after'];
  readonly limit: number;
}

/** Reads a part of a list. Each part is one range of an index. */
export function listTasks(
  tasks: TaskTable,
  query: StoredQuery,
  { hasKey, value, isCommon = false, after, limit }: ListPart,
  part: TaskPart,
): Statement {
  const filters = filtersOf(tasks, query);
  const key = SORT_COLUMNS[query.sort];
  const compared = isCommon ? (tasks.dialect.unindexed?.(key) ?? key) : key;
  filters.conditions.push(
    value === undefined
      ? `${key} IS ${hasKey ? 'NOT NULL' : 'NULL'}`
      : `${compared} = ${filters.bind(toColumn(value))}`,
  );
  if (after !== null) filters.conditions.push(behind(key, query.order, after, filters));
  const direction = query.order === 'asc' ? 'ASC' : 'DESC';
  const order = hasKey && value === undefined ? `${key} ${direction}, id ASC` : 'id ASC';
  const text = `SELECT ${PARTS[part]} FROM ${tasks.table} WHERE ${filters.conditions.join(' AND ')} ORDER BY ${order} LIMIT ${filters.bind(limit)}`;
  return { text, values: filters.values };
}

/** Reads the next value to sort by, of all tasks: one step in an index. @param after `null`: the first one */
export function nextValue(
  { table }: TaskTable,
  { sort, order }: StoredQuery,
  after: string | null,
): Statement {
  const key = SORT_COLUMNS[sort];
  const [direction, sign] = order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const condition = after === null ? 'IS NOT NULL' : `${sign} $2`;
  return {
    text: `SELECT ${key} FROM ${table} WHERE source_id = $1 AND ${key} ${condition} ORDER BY ${key} ${direction} LIMIT 1`,
    values: after === null ? [] : [toColumn(after)],
  };
}

/** Counts the tasks with a value to sort by, up to `most`. */
export function countValue(
  { table }: TaskTable,
  { sort }: Pick<StoredQuery, 'sort'>,
  value: string,
  most: number,
): Statement {
  const some = `SELECT 1 FROM ${table} WHERE source_id = $1 AND ${SORT_COLUMNS[sort]} = $2 LIMIT $3`;
  return { text: `SELECT count(*) FROM (${some}) AS found`, values: [toColumn(value), most] };
}

/** Counts the tasks of a list, up to `most`. */
export function countTasks(tasks: TaskTable, query: StoredQuery, most: number): Statement {
  const { conditions, values, bind } = filtersOf(tasks, query);
  const some = `SELECT 1 FROM ${tasks.table} WHERE ${conditions.join(' AND ')} LIMIT ${bind(most)}`;
  return { text: `SELECT count(*) FROM (${some}) AS matching`, values };
}

/** The filters of a list. */
interface Filters {
  readonly conditions: string[];
  readonly values: SqlValue[];
  /** Binds a value. @returns how the statement calls it */
  bind(value: SqlValue): string;
}

function filtersOf({ dialect, canSearch }: TaskTable, query: StoredQuery): Filters {
  const conditions = ['source_id = $1'];
  const values: SqlValue[] = [];
  const bind = (value: SqlValue): string => `$${values.push(value) + 1}`;
  const any = (column: TaskColumn, texts: readonly (string | null)[]): void => {
    const wanted = texts.filter((text) => text !== null).map(toColumn);
    if (wanted.length === 1) conditions.push(`${column} = ${bind(wanted[0] ?? null)}`);
    else if (wanted.length > 1) conditions.push(dialect.isAny(column, values.push(wanted) + 1));
  };
  any('state', query.states);
  any('name', query.names);
  any('worker', query.workers);
  any('queue', query.queues);
  any('cause', query.causes);
  any('root_id', [query.rootId]);
  any('parent_id', [query.parentId]);
  any('group_id', [query.groupId]);
  for (const condition of query.conditions) {
    const sql = conditionSql(condition, dialect, bind);
    if (sql !== null) conditions.push(sql);
  }
  if (query.since !== null) conditions.push(`changed >= ${bind(query.since.getTime())}`);
  if (query.until !== null) conditions.push(`changed < ${bind(query.until.getTime())}`);
  if (query.isOpen) conditions.push('is_open = 1');
  const { except = [] } = query;
  if (except.length > 0)
    conditions.push(`NOT (${dialect.isAny('id', values.push(except.map(toColumn)) + 1)})`);
  const pattern = query.hint === null || !canSearch ? null : containing(query.hint);
  if (pattern !== null) conditions.push(`${SEARCHED} LIKE ${bind(pattern)}`);
  return { conditions, values, bind };
}

/** The condition for rows after a position. The first half bounds the range of the index. */
function behind(
  key: TaskColumn,
  order: StoredQuery['order'],
  after: NonNullable<StoredQuery['after']>,
  { bind }: Filters,
): string {
  const id = bind(toColumn(after.id));
  if (after.key === null) return `id > ${id}`;
  const at = bind(typeof after.key === 'string' ? toColumn(after.key) : after.key);
  const sign = order === 'asc' ? '>' : '<';
  return `${key} ${sign}= ${at} AND (${key} ${sign} ${at} OR id > ${id})`;
}

const COLUMNS: Readonly<Record<string, string>> = {
  state: 'state',
  name: 'name',
  worker: 'worker',
  queue: 'queue',
  id: 'id',
  runtime: 'runtime',
};
/** Every row has them. */
const KNOWN: ReadonlySet<string> = new Set(['state', 'id']);
const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/**
 * @param bind binds a value. @returns how the statement calls it
 * @returns `null`: no column for the condition exists
 */
function conditionSql(
  condition: TaskCondition,
  dialect: SqlDialect,
  bind: (value: SqlValue) => string,
): string | null {
  const column = COLUMNS[condition.field];
  if (column === undefined) return null;
  if (isFigureCondition(condition)) return `${column} ${SIGNS[condition.comparison]} ${bind(condition.than)}`;
  const some = `(${alternatives(condition, column, dialect, bind).join(' OR ')})`;
  if (!condition.isNegated) return some;
  return KNOWN.has(column) ? `NOT ${some}` : `(${column} IS NULL OR NOT ${some})`;
}

function alternatives(
  { values, prefixes }: TextCondition,
  column: string,
  dialect: SqlDialect,
  bind: (value: SqlValue) => string,
): readonly string[] {
  const wanted = values.map(toColumn);
  const [only] = wanted;
  const exact =
    only === undefined
      ? []
      : wanted.length === 1
        ? [`${column} = ${bind(only)}`]
        : [dialect.isAny(column, Number(bind(wanted).slice(1)))];
  const ranges = prefixes.flatMap(prefixesInColumn).map((prefix) => {
    const from = `${column} >= ${bind(prefix)}`;
    const end = behindAll(prefix);
    return end === null ? from : `(${from} AND ${column} < ${bind(end)})`;
  });
  return [...exact, ...ranges];
}

const LAST = 0x10_ffff;
/** Between these, there are no characters. */
const [BEFORE_HALVES, BEHIND_HALVES] = [0xd7ff, 0xe000];

/** The first text, by code points, after all that begin with a prefix; `null`: there is none. */
function behindAll(prefix: string): string | null {
  const characters = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (characters.at(-1) === LAST) characters.pop();
  const last = characters.pop();
  if (last === undefined) return null;
  return String.fromCodePoint(...characters, last === BEFORE_HALVES ? BEHIND_HALVES : last + 1);
}
