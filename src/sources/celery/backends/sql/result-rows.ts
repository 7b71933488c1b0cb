/** Reads rows of results: finds their tables, their keys, and their values. */
import { type Steps, scheduler } from '../../../../scheduler.ts';
import { pause } from '../../../../waiting.ts';
import { problemOf } from '../../hint.ts';
import { numberOf, type SqlReader, type SqlRow, textOf } from '../../sql/sql-reader.ts';
import { findResultTables, type ResultTables, type ResultWriter, type SqlTable } from './result-tables.ts';
import { LONGEST_VALUE, type ResultOfRow, type ResultText, resultText } from './result-text.ts';

/** The columns that show that a row was written again, without its texts. */
export interface RowHead {
  /** Its primary key. */
  readonly key: number;
  /** Of the task; empty when it has none that can be shown. */
  readonly id: string;
  readonly state: string;
  /** The date of the row as the database writes it; `null` without one. */
  readonly date: string | null;
}

/** Columns of a {@link RowHead}. None is called like a column of the table, which would change the meaning of ORDER BY. */
export function headColumns({ dialect }: SqlReader, { results }: ResultTables): string {
  const date = dialect.time(dialect.column('date_done'), results.types.get('date_done') ?? '');
  const [key, id, state] = ['id', 'task_id', 'status'].map(dialect.column);
  return `${key} AS n, ${id} AS task, ${state} AS state, ${date} AS time`;
}

/** @returns rows without a key are left out */
export function headsOf(rows: readonly SqlRow[]): RowHead[] {
  return rows.flatMap((row) => {
    const key = keyOf(row, 'n');
    if (key === null) return [];
    const id = textOf(row, 'task') ?? '';
    return [{ key, id, state: textOf(row, 'state') ?? '', date: textOf(row, 'time') }];
  });
}

/** The greatest number of JavaScript that fits into 64 bits. Databases refuse greater ones in statements. */
const GREATEST_KEY = 2 ** 63 - 1024;

/** A primary key; those above 2^53 are rounded. */
export function keyOf(row: SqlRow, column: string): number | null {
  const key = numberOf(row, column);
  return key === null ? null : Math.min(key, GREATEST_KEY);
}

/** The greatest key of a table, 0 without rows. */
export async function lastKey(reader: SqlReader, { from }: SqlTable, signal: AbortSignal): Promise<number> {
  const text = `SELECT MAX(${reader.dialect.column('id')}) AS n FROM ${from}`;
  const [row] = await reader.select({ text, limit: 1 }, signal);
  return (row === undefined ? null : keyOf(row, 'n')) ?? 0;
}

/** Ids in one statement. Lists have one of two lengths, so that drivers prepare few statements. */
const IDS = 50;
const FEW_IDS = 10;
/** Rows with long values are read fewer at a time, so that one answer has at most about so many characters. */
const MOST_CHARACTERS = 4 * LONGEST_VALUE;

/**
 * Splits ids into lists for `IN (…)`.
 *
 * @returns each with its placeholders; the last id is repeated where a list is short
 */
export function listsOf(
  ids: readonly string[],
  size: number = IDS,
): readonly { readonly places: number; readonly values: readonly string[] }[] {
  const lists: { places: number; values: string[] }[] = [];
  for (let at = 0; at < ids.length; at += size) {
    const values = ids.slice(at, at + size);
    const places = values.length <= FEW_IDS ? FEW_IDS : IDS;
    lists.push({ places, values: [...values, ...Array(places - values.length).fill(values.at(-1) ?? '')] });
  }
  return lists;
}

/** Reads the values of rows. */
export type RowValues = ReturnType<typeof createRowValues>;

/** @param zone of dates that are stored without one */
function createRowValues(reader: SqlReader, tables: ResultTables) {
  const { dialect, options } = reader;
  const texts: ResultText = resultText(dialect, tables, options.timezone);
  const id = dialect.column('task_id');
  let atOnce = FEW_IDS;
  return {
    /**
     * Reads the results of these tasks in their order, some at a time. Pauses between statements for as long as they
     * took.
     */
    async *read(ids: readonly string[], signal: AbortSignal) {
      const storable = ids.filter(isStorable);
      for (let at = 0; at < storable.length; ) {
        const part = storable.slice(at, at + atOnce);
        at += part.length;
        const rows: SqlRow[] = [];
        for (const { places, values } of listsOf(part)) {
          const list = Array(places).fill('?').join(', ');
          const text = `SELECT ${texts.columns} FROM ${tables.results.from} WHERE ${id} IN (${list})`;
          rows.push(...(await reader.select({ text, values, limit: IDS }, signal)));
        }
        const found = await scheduler.run('results', textsOf(texts, part, rows));
        atOnce = nextSize(found, atOnce);
        yield found;
        if (at < storable.length) await pause(1, signal);
      }
    },
  };
}

/** Longest id that is looked up, in characters: columns have 255 or fewer. */
const LONGEST_ID = 1_024;

/** PostgreSQL refuses a statement with a NUL, and one such id must not hide the others. */
function isStorable(id: string): boolean {
  return id !== '' && id.length <= LONGEST_ID && !id.includes('\0');
}

/** In the order of the ids. */
function* textsOf(
  texts: ResultText,
  ids: readonly string[],
  rows: readonly SqlRow[],
): Steps<readonly ResultOfRow[]> {
  const found = new Map<string, ResultOfRow>();
  for (const row of rows) {
    const result = yield* texts.read(row);
    if (result !== null) found.set(result.id, result);
    yield;
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}

function nextSize(found: readonly ResultOfRow[], atOnce: number): number {
  const characters = found.reduce((sum, { text }) => sum + text.length, 0);
  return characters > MOST_CHARACTERS
    ? FEW_IDS
    : Math.min(IDS, characters * 4 > MOST_CHARACTERS ? atOnce : IDS);
}

/** How long tables that do not exist are not searched again, in milliseconds. */
const MISSING_FOR_MS = 3_000;

/** The tables of results, and how their rows are read. */
export interface FoundTables {
  readonly tables: ResultTables;
  readonly values: RowValues;
}

/** Finds the tables once, and again after they have changed. */
export type TableFinder = ReturnType<typeof createTableFinder>;

/** @param writer whose tables to find; `null`: unknown */
export function createTableFinder(reader: SqlReader, writer: ResultWriter | null) {
  let found: FoundTables | null = null;
  let missingSince = Number.NEGATIVE_INFINITY;
  return {
    /**
     * @returns `null` when there are none
     * @throws SqlError
     */
    async find(signal: AbortSignal) {
      if (found !== null || performance.now() - missingSince < MISSING_FOR_MS) return found;
      const tables = await findResultTables(reader, writer, signal);
      if (tables === null) missingSince = performance.now();
      else found = { tables, values: createRowValues(reader, tables) };
      return found;
    },
    /** The tables that were found last; `null` before, and when there are none. */
    known: () => found,
    /** Whether they were searched, and the database answered. */
    hasLooked: () => found !== null || missingSince > Number.NEGATIVE_INFINITY,
    /** To be called with errors of statements: a migration may have changed the tables. */
    failed(error: unknown) {
      const { code } = problemOf(error);
      if (code === 'NOTABLE' || code === 'NOCOLUMN' || code === 'NOPERM') found = null;
    },
  };
}

/** Rows of one statement. */
const ROWS = 50;

/** Which rows to read: the first of those after a key, or the last of those before one. */
type GroupRange = { readonly after: number } | { readonly before: number };

/** One of the two tables of groups. */
export type GroupTable = 'groups' | 'chords';

/**
 * Reads up to 50 groups of django-celery-results, or headers of its running chords. Those of SQLAlchemy are pickled.
 *
 * @returns none where they cannot be read
 * @throws SqlError
 */
export async function readGroups(
  reader: SqlReader,
  tables: ResultTables,
  kind: GroupTable,
  range: GroupRange,
  signal: AbortSignal,
): Promise<
  readonly {
    /** Of the row. */
    readonly key: number;
    /** Of the group. */
    readonly id: string;
    /** Celery's own JSON of a stored group; `null` if it cannot be read. */
    readonly text: string | null;
  }[]
> {
  const table = tables[kind];
  if (table === null) return [];
  const { text, values } = statementOf(reader, table, kind, range);
  const rows = await reader.select({ text, values, limit: ROWS }, signal);
  return rows.flatMap((row) => {
    const key = keyOf(row, 'n');
    const id = textOf(row, 'name');
    if (key === null || id === null || id === '') return [];
    const members = textOf(row, 'members');
    return [{ key, id, text: members === null ? null : groupText(kind, id, members) }];
  });
}

function statementOf(
  { dialect }: SqlReader,
  { from, types }: SqlTable,
  kind: GroupTable,
  range: GroupRange,
): { readonly text: string; readonly values: readonly string[] } {
  const [key, id] = ['id', 'group_id'].map(dialect.column);
  const members = dialect.column(kind === 'groups' ? 'result' : 'sub_tasks');
  const isJson = types.has('content_type')
    ? `${dialect.column('content_type')} = 'application/json' AND `
    : '';
  const columns = `${key} AS n, ${id} AS name, CASE WHEN ${isJson}${dialect.size(members)} <= ${LONGEST_VALUE} THEN ${members} END AS members`;
  const [comparison, order, bound] =
    'after' in range ? ['>', 'ASC', range.after] : ['<', 'DESC', range.before];
  return {
    text: `SELECT ${columns} FROM ${from} WHERE ${key} ${comparison} ${dialect.integerValue} ORDER BY ${key} ${order}`,
    values: [String(bound)],
  };
}

/** A counter has the header tasks alone; a group also its own id (celery/result.py, `as_tuple`). */
function groupText(kind: GroupTable, id: string, members: string): string {
  return kind === 'groups'
    ? `{"result": ${members}}`
    : `{"result": [[${JSON.stringify(id)}, null], ${members}]}`;
}
