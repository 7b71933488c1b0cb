/** Helpers for the task list: queries, reading all pages, comparing rows. */
import type { Task } from '../model.ts';
import { queryOfSource } from '../select/apply-query.ts';
import { ALL_TASKS } from '../source/task-query.ts';
import type { TaskPage, TaskPosition, TaskQuery, TaskSort } from '../source.ts';
import type { Bench } from './bench.ts';
import { fail } from './shape.ts';
import { SHAPES } from './shapes.ts';

/** Maximum number of rows to check. In a larger source these are the newest ones. */
const MOST_ROWS = 2000;

/** A query as the router creates it. Frozen, because sources share it and must not change it. */
export function taskQuery(part: Partial<TaskQuery> = {}): TaskQuery {
  const query = { ...ALL_TASKS, limit: 1000, scan: 10_000_000, ...part };
  for (const value of Object.values(query)) if (Array.isArray(value)) Object.freeze(value);
  return Object.freeze(query);
}

/** Reads one page and checks its shape. */
export async function page(bench: Bench, query: TaskQuery): Promise<TaskPage> {
  const { tasks } = bench.sources;
  if (!tasks) fail('sources.tasks', 'a part', tasks);
  const asked = queryOfSource(tasks, query) ?? query;
  const answer = await bench.read('listTasks', (context) => tasks.listTasks(asked, context));
  SHAPES.taskPage(answer, 'listTasks');
  if (answer.tasks.length > query.limit) {
    fail('listTasks().tasks.length', `at most the limit of ${query.limit}`, answer.tasks.length);
  }
  return answer;
}

/** Reads all rows of a query, page by page. */
export async function walk(bench: Bench, query: TaskQuery, mostRows = Infinity): Promise<readonly Task[]> {
  const rows: Task[] = [];
  const positions = new Set<string>();
  let after: TaskPosition | null = query.after;
  do {
    const answer: TaskPage = await page(bench, taskQuery({ ...query, after }));
    rows.push(...answer.tasks);
    // Positions travel to the client and back inside a cursor, as JSON.
    const position = JSON.stringify(answer.next);
    after = JSON.parse(position) as TaskPosition | null;
    if (after && positions.has(position))
      fail('listTasks().next', 'a position that was not returned before', after);
    positions.add(position);
  } while (after && rows.length < mostRows);
  return rows;
}

/** The rows that the source holds, or the newest part of them, with the `since` that selects this part. */
export async function held(
  bench: Bench,
): Promise<{ readonly rows: readonly Task[]; readonly since: Date | null }> {
  const rows = await walk(bench, taskQuery(), MOST_ROWS + 1);
  expectUnique('listTasks, by id', idsOf(rows));
  if (rows.length === 0) {
    fail('listTasks', 'at least one task; return a seed from create(), or use a source that has some', rows);
  }
  if (rows.length <= MOST_ROWS) return { rows, since: null };
  const since = rows[MOST_ROWS - 1]?.timestamp ?? null;
  return { rows: rows.filter((row) => since && row.timestamp && row.timestamp >= since), since };
}

/** Fails when a key comes twice. */
export function expectUnique(what: string, keys: readonly string[]): void {
  const twice = keys.filter((key, index) => keys.indexOf(key) !== index);
  if (twice.length > 0) fail(what, 'each once', twice);
}

/** The value that a row is sorted by; `null` when the row has none. */
function sortKey(row: Task, sort: TaskSort): number | string | null {
  const value = row[sort];
  return value instanceof Date ? value.getTime() : (value ?? null);
}

/** Sorts rows as the list must: by value, `null` last, ties by ascending id, text by code unit. */
export function sorted(rows: readonly Task[], sort: TaskSort, order: TaskQuery['order']): readonly Task[] {
  const sign = order === 'asc' ? 1 : -1;
  return rows.toSorted((a, b) => {
    const x = sortKey(a, sort);
    const y = sortKey(b, sort);
    if (x === y) return a.id < b.id ? -1 : 1;
    if (x === null) return 1;
    if (y === null) return -1;
    return x < y ? -sign : sign;
  });
}

/**
 * Compares the whole order, with two exceptions: rows without a `timestamp` come last in any order, and in a
 * source that was not seeded rows of the same millisecond may come in any order, because the source may know
 * their times more precisely than a `Date`.
 */
export function expectOrder(
  bench: Bench,
  what: string,
  rows: readonly Task[],
  expected: readonly Task[],
  sort: TaskSort,
) {
  const loose = (row: Task) =>
    bench.seeded ? sort === 'timestamp' && !row.timestamp : sort === 'timestamp' || row[sort] instanceof Date;
  const sortPosition = (row: Task) => [loose(row), sortKey(row, sort), loose(row) || row.id].join();
  expectIds(what, idsOf(rows).toSorted(), idsOf(expected).toSorted());
  const at = rows.findIndex((row, index) => sortPosition(row) !== sortPosition(expected[index] as Task));
  if (at >= 0) fail(`${what}, row ${at}`, `${expected[at]?.id} (order)`, rows[at]?.id);
}

/** The ids of tasks or of items of the feed. */
export function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map(({ id }) => id);
}

/** Fails unless both lists have the same rows in the same order. */
export function expectRows(what: string, actual: readonly Task[], expected: readonly Task[]): void {
  expectIds(what, idsOf(actual), idsOf(expected));
}

/** Reads the list with `filter` and expects exactly the held rows for which `holds` is true, newest first. */
export async function expectFiltered(
  bench: Bench,
  what: string,
  filter: Partial<TaskQuery>,
  holds: (row: Task) => boolean,
): Promise<void> {
  const { rows, since } = await held(bench);
  const answer = await walk(bench, taskQuery({ since, ...filter }));
  expectRows(what, answer, rows.filter(holds));
}

/** Fails at the first difference between two lists of ids. */
export function expectIds(what: string, actual: readonly string[], expected: readonly string[]): void {
  const missing = expected.filter((id) => !actual.includes(id));
  if (missing.length > 0) fail(what, `also ${missing.slice(0, 5).join(', ')}`, actual.slice(0, 20));
  const foreign = actual.filter((id) => !expected.includes(id));
  if (foreign.length > 0) fail(what, `none of ${foreign.slice(0, 5).join(', ')}`, foreign);
  if (actual.length !== expected.length) fail(what, `each of ${expected.length} rows once`, actual.length);
  const at = actual.findIndex((id, index) => id !== expected[index]);
  if (at >= 0) fail(`${what}, row ${at}`, `${expected[at]} (order)`, actual[at]);
}
