/**
 * Writes rows of results as Celery's own JSON of a result ("meta"), as other backends store it, so that the same code
 * decodes all of them. Members beginning with `monitor_` describe what a row lacks.
 */
import type { TaskTextField } from '../../../../model.ts';
import type { Steps } from '../../../../scheduler.ts';
import { objectMembers, skipSpace, valueEnd } from '../../protocol/python-json.ts';
import { CUT_MEMBER, UNREAD_MEMBER } from '../../protocol/results.ts';
import type { SqlDialect } from '../../sql/sql-dialect.ts';
import { hexTextOf, numberOf, type SqlRow, textOf, timeOf } from '../../sql/sql-reader.ts';
import type { ResultTables, SqlTable } from './result-tables.ts';

/** Longest result that is read, and longest list of arguments, in bytes. */
export const LONGEST_VALUE: number = 256 * 1024;
const LONGEST_ARGUMENTS = 64 * 1024;
/** Longest traceback that is read, in characters. */
const LONGEST_TRACEBACK = 64 * 1024;
/** Most characters of a result with all that belongs to it. */
const MOST_TEXT = 384 * 1024;

/** States in which Celery dates a result. */
export const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);
/** Longest name, in characters. */
const LONGEST_NAME = 1_024;
const JSON_TYPE = 'application/json';
/** The two dates of a row that is saved once differ by less, in milliseconds. */
const ONE_SAVE_MS = 20;

const PICKLED = 'The stored result is pickled, which only Python can read.';
const NOT_JSON = 'The stored result is not in JSON, so it cannot be read.';
const TOO_LONG = 'The stored result is too long to be read.';

/** A row as a result. */
export interface ResultOfRow {
  /** Of the task. */
  readonly id: string;
  /** Celery's own JSON. */
  readonly text: string;
  /** When the row was written, in milliseconds since 1970; `null` if unknown. */
  readonly writtenAt: number | null;
}

/** A result that is being written. */
interface ResultMeta {
  readonly id: string;
  readonly state: string;
  readonly writtenAt: number | null;
  /** JSON by name. */
  readonly members: Map<string, string>;
  /** Fields that are cut or left out. */
  readonly cut: TaskTextField[];
  /** Characters that it may still get: decoding it takes a turn of the event loop. */
  left: number;
}

/** Reads results as texts. */
export interface ResultText {
  /** What to select. */
  readonly columns: string;
  /** @returns `null` for a row without an id or a state */
  read(row: SqlRow): Steps<ResultOfRow | null>;
}

/** @param zone of dates that are stored without one */
export function resultText(dialect: SqlDialect, tables: ResultTables, zone: string): ResultText {
  return tables.writer === 'django' ? djangoText(dialect, tables, zone) : pickledText(dialect, tables, zone);
}

/** A text column; NULL when it is too long. */
function bounded(dialect: SqlDialect, column: string, longest: number): string {
  return `CASE WHEN ${dialect.size(column)} <= ${longest} THEN ${column} END`;
}

function listOf(dialect: SqlDialect, table: SqlTable, expressions: Readonly<Record<string, string>>): string {
  const common = {
    n: dialect.column('id'),
    task: dialect.column('task_id'),
    state: dialect.column('status'),
    time: dialect.time(dialect.column('date_done'), table.types.get('date_done') ?? ''),
    traceback: dialect.head(dialect.column('traceback'), LONGEST_TRACEBACK),
  };
  return Object.entries({ ...common, ...expressions })
    .map(([name, expression]) => `${expression} AS ${name}`)
    .join(', ');
}

/** The columns of a table that exist, as selected. */
function existing(
  dialect: SqlDialect,
  { types }: SqlTable,
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, column]) =>
      types.has(column) ? [[name, dialect.head(dialect.column(column), LONGEST_NAME)]] : [],
    ),
  );
}

/** Long texts of django-celery-results: name, column, and the longest that is read. */
const LONG_TEXTS = [
  ['args', 'task_args', LONGEST_ARGUMENTS],
  ['kwargs', 'task_kwargs', LONGEST_ARGUMENTS],
  ['meta', 'meta', LONGEST_VALUE],
] as const;

/** Results of django-celery-results: texts, with the name of their serializer. */
function djangoText(dialect: SqlDialect, { results }: ResultTables, zone: string): ResultText {
  const isCreated = results.types.has('date_created');
  const longTexts = Object.fromEntries(
    LONG_TEXTS.filter(([, column]) => results.types.has(column)).map(([name, column, longest]) => [
      name,
      bounded(dialect, dialect.column(column), longest),
    ]),
  );
  const columns = listOf(dialect, results, {
    result: bounded(dialect, dialect.column('result'), LONGEST_VALUE),
    size: dialect.size(dialect.column('result')),
    ...existing(dialect, results, {
      kind: 'content_type',
      name: 'task_name',
      worker: 'worker',
    }),
    ...longTexts,
    ...(isCreated
      ? {
          created: dialect.time(dialect.column('date_created'), results.types.get('date_created') ?? ''),
        }
      : {}),
  });
  return {
    columns,
    *read(row) {
      const meta = newMeta(row, zone);
      if (meta === null) return null;
      const isJson = (textOf(row, 'kind') ?? JSON_TYPE) === JSON_TYPE;
      yield;
      addResult(meta, row, isJson);
      const created = isCreated ? timeOf(row, 'created', zone) : null;
      if (meta.state === 'PENDING' && created !== null) addDate(meta, created);
      addText(meta, 'name', textOf(row, 'name'));
      const worker = textOf(row, 'worker');
      if (worker !== null || neverRan(created, meta.writtenAt)) addText(meta, 'worker', worker);
      if (!isJson) return rowOf(meta);
      for (const name of ['args', 'kwargs'] as const) {
        yield;
        const text = textOf(row, name);
        if (!addJson(meta, name, text) && text !== null && text.length > meta.left) meta.cut.push(name);
      }
      yield;
      addMeta(meta, textOf(row, 'meta'));
      return rowOf(meta);
    },
  };
}

/** An extended result without a worker is that of a task that never ran, unless the app created its row before. */
function neverRan(created: number | null, written: number | null): boolean {
  return created === null || written === null || written - created < ONE_SAVE_MS;
}

function addResult(meta: ResultMeta, row: SqlRow, isJson: boolean): void {
  const stored = textOf(row, 'result');
  const result = stored !== null && stored.length <= meta.left ? stored : null;
  const size = numberOf(row, 'size') ?? 0;
  if (isJson && result !== null && addJson(meta, 'result', result)) return;
  if (size === 0) return;
  if (result === null) meta.cut.push('result');
  if (meta.state === 'SUCCESS') addText(meta, UNREAD_MEMBER, result === null ? TOO_LONG : NOT_JSON);
}

/** What django-celery-results has in its column `meta`: `{"children": […]}`, and in some versions more. */
function addMeta(meta: ResultMeta, text: string | null): void {
  if (text === null || text.length > meta.left) return;
  try {
    const members = objectMembers(text);
    for (const name of ['children', 'group_id', 'parent_id']) {
      const at = members.get(name);
      const json = at === undefined ? 'null' : text.slice(at, valueEnd(text, at));
      if (json !== 'null') meta.members.set(name, json);
    }
  } catch {
    // Without it, only the children are unknown.
  }
}

/** Results of SQLAlchemy: pickled, with arguments in the serializer of results, as bytes. */
function pickledText(dialect: SqlDialect, { results }: ResultTables, zone: string): ResultText {
  const hex = (column: string): string => dialect.hexHead(dialect.column(column), LONGEST_ARGUMENTS);
  const isExtended = results.types.has('args') && results.types.has('kwargs');
  const columns = listOf(dialect, results, {
    size: dialect.size(dialect.column('result')),
    ...existing(dialect, results, { name: 'name', worker: 'worker', queue: 'queue' }),
    ...(isExtended ? { args: hex('args'), kwargs: hex('kwargs') } : {}),
    ...(results.types.has('retries') ? { retries: dialect.column('retries') } : {}),
  });
  return {
    columns,
    *read(row) {
      const meta = newMeta(row, zone);
      if (meta === null) return null;
      if (meta.state === 'SUCCESS' && (numberOf(row, 'size') ?? 0) > 0) addText(meta, UNREAD_MEMBER, PICKLED);
      for (const name of ['name', 'worker', 'queue'] as const)
        if (name in row) addText(meta, name, textOf(row, name));
      const retries = numberOf(row, 'retries');
      if (retries !== null) meta.members.set('retries', String(retries));
      for (const name of ['args', 'kwargs'] as const) {
        yield;
        addJson(meta, name, hexTextOf(row, name));
      }
      return rowOf(meta);
    },
  };
}

/** @returns `null` for a row without an id or a state */
function newMeta(row: SqlRow, zone: string): ResultMeta | null {
  const id = textOf(row, 'task');
  const state = textOf(row, 'state');
  if (id === null || id === '' || state === null || state === '') return null;
  const writtenAt = timeOf(row, 'time', zone);
  // The state comes first, as Celery writes it. Rows name no parent, which does not mean that there is none.
  const members = new Map([
    ['status', JSON.stringify(state)],
    ['parent_id', 'false'],
    ['task_id', JSON.stringify(id)],
  ]);
  const meta: ResultMeta = { id, state, writtenAt, members, cut: [], left: MOST_TEXT };
  const traceback = textOf(row, 'traceback') ?? '';
  if (traceback !== '') addText(meta, 'traceback', traceback);
  if (traceback.length >= LONGEST_TRACEBACK) meta.cut.push('traceback');
  // Django dates all rows; to the decoder, a date means that the task has ended.
  if (writtenAt !== null && ENDED.has(state)) addDate(meta, writtenAt);
  return meta;
}

/** Dates the end of the task; a task that waits, when it was sent. */
function addDate({ members }: ResultMeta, time: number): void {
  members.set('date_done', JSON.stringify(new Date(time).toISOString()));
}

/** Adds a text, however long. */
function addText(meta: ResultMeta, name: string, value: string | null): void {
  const json = JSON.stringify(value);
  meta.members.set(name, json);
  meta.left -= json.length;
}

/**
 * Adds text that is already JSON.
 *
 * @returns false for what is no JSON or too long beside the rest, which is left out
 */
function addJson(meta: ResultMeta, name: string, value: string | null): boolean {
  if (value === null || value.length > meta.left || !isWhole(value)) return false;
  meta.members.set(name, value);
  meta.left -= value.length;
  return true;
}

/** The text of a complete result. */
function rowOf({ id, writtenAt, members, cut }: ResultMeta): ResultOfRow {
  if (cut.length > 0) members.set(CUT_MEMBER, JSON.stringify(cut));
  const text = `{${[...members].map(([name, json]) => `"${name}": ${json}`).join(', ')}}`;
  return { id, text, writtenAt };
}

/** Whether a text is one JSON value, as far as its brackets and strings show. */
function isWhole(text: string): boolean {
  try {
    return skipSpace(text, valueEnd(text, skipSpace(text, 0))) === text.length;
  } catch {
    return false;
  }
}
