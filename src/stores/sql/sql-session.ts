/** The session of one source in a SQL database. */
import type { StoredQuery, StoredTask, TaskStore } from '../../history/store.ts';
import { TASK_COLUMNS, type TableNames, type TaskColumn } from './schema.ts';
import type { SqlDatabase, SqlRow } from './sql-database.ts';
import {
  countStatement,
  listStatement,
  readStatement,
  type Statement,
  taskInsert,
} from './task-statements.ts';
import { fromColumn, toColumn } from './text-key.ts';

/** A source in a database whose tables exist. */
export interface SqlSource {
  readonly database: SqlDatabase;
  readonly names: TableNames;
  readonly prefix: string;
  /** Number of the source in the database. */
  readonly sourceId: number;
}

/** The parts of a session that are there. */
export interface SqlSession {
  readonly tasks: Omit<TaskStore, 'linked'>;
  readonly lease: SqlLease;
  size(): Promise<number>;
}

/** Who may write. */
export interface SqlLease {
  acquire(holder: string, forMs: number): Promise<boolean>;
  release(holder: string): Promise<void>;
}

export function createSqlSession(source: SqlSource): SqlSession {
  const { database, prefix } = source;
  return {
    tasks: createTaskStore(source),
    lease: createLease(source),
    async size() {
      const [row] = await database.query(database.dialect.size(prefix));
      return Number(row?.bytes ?? 0);
    },
  };
}

function createTaskStore({ database, names, sourceId }: SqlSource): Omit<TaskStore, 'linked'> {
  const { dialect } = database;
  const run = ({ text, values }: Statement): Promise<readonly SqlRow[]> => database.query(text, values);
  const page = async (
    query: StoredQuery,
    part: { readonly hasKey: boolean; readonly after: StoredQuery['after']; readonly limit: number },
  ): Promise<StoredTask[]> =>
    part.limit === 0
      ? []
      : (await run(listStatement(dialect, names.task, sourceId, query, part))).map(taskOf);
  return {
    async write(tasks) {
      if (tasks.length === 0) return new Set();
      const columns = TASK_COLUMNS.map(([name]) => tasks.map((task) => columnValue(task, name, sourceId)));
      const rows = await database.insert(taskInsert(names.task), columns);
      return new Set(rows.map(({ id }) => fromColumn(String(id))));
    },
    async read(ids) {
      if (ids.length === 0) return [];
      return (await run(readStatement(dialect, names.task, sourceId, ids))).map(taskOf);
    },
    async list(query) {
      const { after, limit } = query;
      const isInKeys = after === null || after.key !== null;
      const first = isInKeys ? await page(query, { hasKey: true, after, limit }) : [];
      const rest = { hasKey: false, after: isInKeys ? null : after, limit: limit - first.length };
      return [...first, ...(await page(query, rest))];
    },
    async count(query, most) {
      const [row] = await run(countStatement(dialect, names.task, sourceId, query, most));
      return Number(row?.count ?? 0);
    },
    async dropBefore(day) {
      await database.query(`DELETE FROM ${names.task} WHERE source_id = $1 AND day < $2 AND is_open = 0`, [
        sourceId,
        day,
      ]);
    },
  };
}

function createLease({ database, names, sourceId }: SqlSource): SqlLease {
  const { now } = database.dialect;
  return {
    async acquire(holder, forMs) {
      const rows = await database.query(
        `INSERT INTO ${names.lease} AS held (source_id, holder, expires_at) VALUES ($1, $2, ${now} + $3)
         ON CONFLICT (source_id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
         WHERE held.holder = excluded.holder OR held.expires_at < ${now}
         RETURNING holder`,
        [sourceId, holder, forMs],
      );
      return rows.length > 0;
    },
    async release(holder) {
      await database.query(`DELETE FROM ${names.lease} WHERE source_id = $1 AND holder = $2`, [
        sourceId,
        holder,
      ]);
    },
  };
}

const TEXTS: Readonly<
  Partial<
    Record<
      TaskColumn,
      'id' | 'state' | 'name' | 'worker' | 'queue' | 'rootId' | 'parentId' | 'groupId' | 'chordId'
    >
  >
> = {
  id: 'id',
  state: 'state',
  name: 'name',
  worker: 'worker',
  queue: 'queue',
  root_id: 'rootId',
  parent_id: 'parentId',
  group_id: 'groupId',
  chord_id: 'chordId',
};

const NUMBERS: Readonly<
  Partial<
    Record<TaskColumn, 'day' | 'version' | 'timestamp' | 'received' | 'started' | 'finished' | 'runtime'>
  >
> = {
  day: 'day',
  version: 'version',
  changed: 'timestamp',
  received: 'received',
  started: 'started',
  finished: 'finished',
  runtime: 'runtime',
};

function columnValue(task: StoredTask, column: TaskColumn, sourceId: number): string | number | null {
  if (column === 'source_id') return sourceId;
  if (column === 'is_open') return task.isOpen ? 1 : 0;
  if (column === 'record') return task.record;
  if (column === 'texts') return task.texts;
  const number = NUMBERS[column];
  if (number !== undefined) return task[number];
  const field = TEXTS[column];
  const text = field === undefined ? null : task[field];
  return text === null ? null : toColumn(text);
}

function taskOf(row: SqlRow): StoredTask {
  const text = (column: TaskColumn): string | null => {
    const value = row[column];
    return value === null || value === undefined ? null : fromColumn(String(value));
  };
  const number = (column: TaskColumn): number | null => {
    const value = row[column];
    return value === null || value === undefined ? null : Number(value);
  };
  return {
    id: text('id') ?? '',
    day: number('day') ?? 0,
    version: number('version') ?? 0,
    isOpen: number('is_open') === 1,
    state: text('state') ?? '',
    name: text('name'),
    worker: text('worker'),
    queue: text('queue'),
    rootId: text('root_id'),
    parentId: text('parent_id'),
    groupId: text('group_id'),
    chordId: text('chord_id'),
    timestamp: number('changed'),
    received: number('received'),
    started: number('started'),
    finished: number('finished'),
    runtime: number('runtime'),
    record: String(row.record ?? ''),
    texts: row.texts === null || row.texts === undefined ? null : String(row.texts),
  };
}
