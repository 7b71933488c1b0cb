import type { ScanStep, StoredPart, StoredResults, StoredValue } from '../../result-backend.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import { numberOf } from '../../sql/sql-values.ts';
import { type GroupTable, readGroups } from './result-groups.ts';
import { type FoundTables, headColumns, headsOf, lastKey, type TableFinder } from './result-rows.ts';
import type { ResultOfRow } from './result-text.ts';

/** Rows of one step. */
const STEP = 500;
/** Groups of each table that are read at the start, those stored last. */
const MOST_GROUPS = 1_000;

/** Results by primary key, those stored last first. Tables may be large: no statement reads all of one. */
export function createStoredResults(reader: SqlReader, finder: TableFinder): StoredResults {
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
