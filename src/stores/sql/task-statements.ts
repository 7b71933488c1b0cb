/** The statements about tasks. Every value is bound; names of tables come from `schema.ts`. */
import type { StoredQuery } from '../../history/store.ts';
import { TASK_COLUMNS, type TaskColumn } from './schema.ts';
import type { SqlDialect, SqlInsert, SqlValue } from './sql-database.ts';
import { toColumn } from './text-key.ts';

/** A statement and its values. */
export interface Statement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

const NAMES = TASK_COLUMNS.map(([name]) => name);
const WRITTEN = NAMES.filter((name) => name !== 'source_id' && name !== 'id' && name !== 'day');

/** What a list reads: everything but the long texts. */
const LISTED = NAMES.map((name) => (name === 'texts' ? 'NULL AS texts' : name)).join(', ');

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

/** Writes tasks. One that is stored in another version than the one before stays as it is. */
export function taskInsert(table: string): SqlInsert {
  const sets = WRITTEN.map((name) => `${name} = excluded.${name}`).join(', ');
  return {
    into: `${table} AS stored`,
    columns: TASK_COLUMNS,
    tail: `ON CONFLICT (source_id, id, day) DO UPDATE SET ${sets} WHERE stored.version = excluded.version - 1 RETURNING id`,
  };
}

/** Reads tasks by their ids. */
export function readStatement(
  dialect: SqlDialect,
  table: string,
  sourceId: number,
  ids: readonly string[],
): Statement {
  const text = `SELECT ${NAMES.join(', ')} FROM ${table} WHERE source_id = $1 AND ${dialect.isAny('id', 2)}`;
  return { text, values: [sourceId, ids.map(toColumn)] };
}

/**
 * Reads a part of a list: the rows with a value to sort by, or those without one, which come last in both orders.
 * Apart, each part is one range of an index.
 *
 * @param after position of the row before, of this part; `null`: from its start
 */
export function listStatement(
  dialect: SqlDialect,
  table: string,
  sourceId: number,
  query: StoredQuery,
  part: { readonly hasKey: boolean; readonly after: StoredQuery['after']; readonly limit: number },
): Statement {
  const { conditions, values } = filtersOf(dialect, sourceId, query);
  const key = SORT_COLUMNS[query.sort];
  const { hasKey, after, limit } = part;
  conditions.push(`${key} IS ${hasKey ? 'NOT NULL' : 'NULL'}`);
  if (after !== null) conditions.push(behind(key, query.order, after, values));
  values.push(limit);
  const order = hasKey ? `${key} ${query.order === 'asc' ? 'ASC' : 'DESC'}, id ASC` : 'id ASC';
  const text = `SELECT ${LISTED} FROM ${table} WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT $${values.length}`;
  return { text, values };
}

/** Counts the tasks of a list, up to `most`. */
export function countStatement(
  dialect: SqlDialect,
  table: string,
  sourceId: number,
  query: StoredQuery,
  most: number,
): Statement {
  const { conditions, values } = filtersOf(dialect, sourceId, query);
  values.push(most);
  const some = `SELECT 1 FROM ${table} WHERE ${conditions.join(' AND ')} LIMIT $${values.length}`;
  return { text: `SELECT count(*) AS count FROM (${some}) AS matching`, values };
}

/** What a list filters by, and the values that are bound so far. */
interface Filters {
  readonly conditions: string[];
  readonly values: SqlValue[];
}

function filtersOf(dialect: SqlDialect, sourceId: number, query: StoredQuery): Filters {
  const conditions = ['source_id = $1'];
  const values: SqlValue[] = [sourceId];
  const add = (value: SqlValue, condition: (at: number) => string): void => {
    values.push(value);
    conditions.push(condition(values.length));
  };
  const any = (column: TaskColumn, texts: readonly string[]): void => {
    if (texts.length === 1) add(toColumn(texts[0] as string), (at) => `${column} = $${at}`);
    else if (texts.length > 1) add(texts.map(toColumn), (at) => dialect.isAny(column, at));
  };
  any('state', query.states);
  any('name', query.names);
  any('worker', query.workers);
  any('queue', query.queues);
  any('root_id', query.rootId === null ? [] : [query.rootId]);
  any('parent_id', query.parentId === null ? [] : [query.parentId]);
  any('group_id', query.groupId === null ? [] : [query.groupId]);
  if (query.since !== null) add(query.since.getTime(), (at) => `changed >= $${at}`);
  if (query.until !== null) add(query.until.getTime(), (at) => `changed < $${at}`);
  if (query.isOpen) conditions.push('is_open = 1');
  const { except = [] } = query;
  if (except.length > 0) add(except.map(toColumn), (at) => `NOT (${dialect.isAny('id', at)})`);
  return { conditions, values };
}

/** The condition of a row behind a position. The first half bounds the range of the index. */
function behind(
  key: TaskColumn,
  order: StoredQuery['order'],
  after: NonNullable<StoredQuery['after']>,
  values: SqlValue[],
): string {
  values.push(toColumn(after.id));
  const id = `$${values.length}`;
  if (after.key === null) return `id > ${id}`;
  values.push(typeof after.key === 'string' ? toColumn(after.key) : after.key);
  const at = `$${values.length}`;
  const sign = order === 'asc' ? '>' : '<';
  return `${key} ${sign}= ${at} AND (${key} ${sign} ${at} OR id > ${id})`;
}
