import type { Hint } from '../../hint.ts';
import type {
  ResultBackend,
  ScanStep,
  StoredPart,
  StoredResults,
  StoredValue,
} from '../../result-backend.ts';
import { numberOf, type SqlReader } from '../../sql/sql-reader.ts';
import { createPublishedResults } from './published-results.ts';
import {
  createTableFinder,
  type FoundTables,
  type GroupTable,
  headColumns,
  headsOf,
  lastKey,
  readGroups,
  type TableFinder,
} from './result-rows.ts';
import { RESULT_TABLES, type ResultTables, type ResultWriter } from './result-tables.ts';
import type { ResultOfRow } from './result-text.ts';

/**
 * Results of django-celery-results, or of Celery's backend on SQLAlchemy. Everything is read with SELECT.
 *
 * @param reader closed by its creator
 * @param writer who writes the results; `null`: determined from the existing tables
 * @param pollMs between two polls, in milliseconds; for tests. Default 1,000
 */
export function createSqlResultBackend(
  reader: SqlReader,
  writer: ResultWriter | null,
  pollMs?: number,
): ResultBackend {
  const finder = createTableFinder(reader, writer);
  const published = createPublishedResults(reader, finder, pollMs);
  const known = (): ResultKnowledge => ({
    reader,
    writer,
    tables: finder.known()?.tables ?? null,
    hasLooked: finder.hasLooked(),
    skew: published.skew(),
  });
  return {
    published,
    stored: createStoredResults(reader, finder),
    check: (signal) => reader.check(signal),
    deniedHint: () => deniedHint(known()),
    hints: () => resultHints(known()),
    describe() {
      const { tables } = known();
      return {
        url: null,
        config: {
          transport: reader.dialect.name,
          table: tables?.results.name.name ?? null,
          polled_by: tables === null ? null : tables.isDateIndexed ? 'date_done' : 'id',
        },
      };
    },
    close: async () => published.close(),
  };
}

/** What is known about the results of a database. */
interface ResultKnowledge {
  readonly reader: SqlReader;
  /** The configured writer; `null`: none is configured. */
  readonly writer: ResultWriter | null;
  /** `null`: not found, or not searched yet. */
  readonly tables: ResultTables | null;
  /** Whether tables were searched. */
  readonly hasLooked: boolean;
  /** How far the dates of new rows are behind the clock of the database, in milliseconds; 0: hardly. */
  readonly skew: number;
}

const TABLES = {
  django: [RESULT_TABLES.django, 'django_celery_results_groupresult', 'django_celery_results_chordcounter'],
  sqlalchemy: [RESULT_TABLES.sqlalchemy],
} as const;

/** The hint for a user who may not read tables, with the statement that grants it. */
function deniedHint({ reader, writer, tables }: ResultKnowledge): Hint {
  const { dialect, options } = reader;
  const refused = tables?.refused ?? [];
  const names =
    refused.length > 0
      ? refused
      : TABLES[tables?.writer ?? writer ?? 'django'].map((name) => dialect.table(options.tables[name]));
  const what = refused.length > 0 ? 'groups and chords, which show as single tasks' : 'results';
  const sentence = `The user of the database may not read the tables of ${what}. Run ${grantLine(reader, names)}`;
  return { code: 'missing_right', component: 'backend', sentence };
}

/** Causes that hide results without any failure. */
function resultHints(known: ResultKnowledge): readonly Hint[] {
  const { tables } = known;
  if (tables === null) return known.hasLooked ? [noTables(known)] : [];
  return [
    ...(tables.refused.length > 0 ? [deniedHint(known)] : []),
    ...(tables.writer === 'sqlalchemy' ? [pickled()] : []),
    ...(known.skew === 0 ? [] : [wrongZone(known)]),
  ];
}

/** MySQL has a statement for each table. */
function grantLine({ dialect }: SqlReader, tables: readonly string[]): string {
  return dialect.name === 'mysql'
    ? tables.map((table) => `GRANT SELECT ON ${table} TO '<user>'@'<host>';`).join(' ')
    : `GRANT SELECT ON ${tables.join(', ')} TO <user>;`;
}

function noTables({ reader }: ResultKnowledge): Hint {
  const { dialect, options } = reader;
  const names = [RESULT_TABLES.django, RESULT_TABLES.sqlalchemy].map((name) =>
    dialect.table(options.tables[name]),
  );
  const line = "backend: '<result_backend of the app>'";
  return {
    code: 'no_results',
    component: 'backend',
    sentence:
      `The database has no results that its user may read: neither ${names.join(' nor ')}. If the app stores results ` +
      `elsewhere, write ${line}. If the tables are in another schema, write sql: { schema }; if they may not be read, ` +
      `run ${grantLine(reader, names.slice(0, 1))}`,
  };
}

function pickled(): Hint {
  const line = "result_backend = 'django-db'";
  return {
    code: 'serializer',
    component: 'backend',
    sentence:
      'Celery pickles what tasks return before it stores it over SQLAlchemy, and only Python can read that: results show ' +
      `as null unless events carried them. To show them, use Redis or django-celery-results: ${line}.`,
  };
}

const HOUR_MS = 3_600_000;

function wrongZone({ skew, reader }: ResultKnowledge): Hint {
  const line = "sql: { timezone: '<zone>' }";
  const hours = Math.round((Math.abs(skew) / HOUR_MS) * 10) / 10;
  return {
    code: 'clock_skew',
    component: 'backend',
    sentence:
      `New results are dated ${hours} h ${skew > 0 ? 'too early' : 'too late'}, so they are stored in another time zone ` +
      `than ${reader.options.timezone}. Write ${line} with Django's TIME_ZONE, or Celery's timezone.`,
  };
}

/** Rows of one step. */
const STEP = 500;
/** Groups of each table that are read at the start, those stored last. */
const MOST_GROUPS = 1_000;

/** Results by primary key, those stored last first. Tables may be large: no statement reads all of one. */
function createStoredResults(reader: SqlReader, finder: TableFinder): StoredResults {
  return {
    isNewestFirst: true,
    async size(signal) {
      const known = await finder.find(signal);
      if (known === null) return 0;
      const key = reader.dialect.column('id');
      const text = `SELECT MAX(${key}) AS most, MIN(${key}) AS least FROM ${known.tables.results.from}`;
      const [row] = await guarded(finder, () => reader.select({ text, limit: 1 }, signal));
      const most = row === undefined ? null : numberOf(row, 'most');
      const least = row === undefined ? null : numberOf(row, 'least');
      return most === null || least === null ? 0 : most - least + 1;
    },
    async scan(from, select, signal) {
      const known = await finder.find(signal);
      if (known === null) return NOTHING;
      return guarded(finder, () => scanStep(reader, known, from, select, signal));
    },
    async *find(taskIds, signal) {
      const known = await finder.find(signal);
      if (known === null) return;
      for await (const rows of known.values.read(taskIds, signal)) yield rows.map(storedValue);
    },
    requests: reader.requests,
  };
}

async function* noParts(): AsyncGenerator<StoredPart, void> {}

const NOTHING: ScanStep = { next: null, taskCount: 0, parts: noParts() };

async function scanStep(
  reader: SqlReader,
  known: FoundTables,
  from: string | null,
  select: (ids: readonly string[]) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<ScanStep> {
  const { dialect } = reader;
  const key = dialect.column('id');
  const text = `SELECT ${headColumns(reader, known.tables)} FROM ${known.tables.results.from} WHERE ${key} < ${dialect.integerValue} ORDER BY ${key} DESC`;
  // Without a bound, MySQL sorts the whole table.
  const values = [from ?? String((await lastKey(reader, known.tables.results, signal)) + 1)];
  const heads = headsOf(await reader.select({ text, values, limit: STEP }, signal));
  const wanted = await select(heads.flatMap(({ id }) => (id === '' ? [] : id)));
  const last = heads.at(-1)?.key ?? 0;
  // Whatever the host's function answers, a scan ends.
  const isLast = heads.length < STEP || (from !== null && last >= Number(from));
  return {
    next: isLast ? null : String(last),
    taskCount: heads.length,
    parts: partsOf(reader, known, wanted, from === null, signal),
  };
}

async function* partsOf(
  reader: SqlReader,
  { tables, values }: FoundTables,
  wanted: readonly string[],
  isFirst: boolean,
  signal: AbortSignal,
): AsyncGenerator<StoredPart, void> {
  for await (const rows of values.read(wanted, signal)) yield { tasks: rows.map(storedValue), groups: [] };
  if (!isFirst) return;
  for (const kind of ['groups', 'chords'] as const satisfies readonly GroupTable[]) {
    const table = tables[kind];
    let before = table === null ? 0 : (await lastKey(reader, table, signal)) + 1;
    for (let count = 0; count < MOST_GROUPS; ) {
      const groups = await readGroups(reader, tables, kind, { before }, signal);
      const texts = groups.flatMap(({ text }) => (text === null ? [] : [{ text, isCut: false }]));
      yield { tasks: [], groups: texts };
      const last = groups.at(-1);
      if (last === undefined) break;
      count += groups.length;
      before = last.key;
    }
  }
}

function storedValue({ id, text, writtenAt }: ResultOfRow): StoredValue {
  return { id, text, isCut: false, writtenAt };
}

async function guarded<Result>(finder: TableFinder, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    finder.failed(error);
    throw error;
  }
}
