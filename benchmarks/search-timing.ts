/**
 * Whether the duration of a search confirms a guess of a masked secret. 1,000 tasks carry the same password; a
 * search for the first characters of it and one for characters that are nowhere are timed in turn, for texts that
 * the source has redacted and for those that the router redacts. Welch's t compares the two; 4.5 is the usual
 * threshold of a timing leak. Then what the first search over a history costs, and the next ones.
 */
import type { History } from '../src/history/history.ts';
import { createMemoryHistory } from '../src/history/memory-history.ts';
import { createRedactor, type Redactor } from '../src/redact.ts';
import { createSerializer } from '../src/serialize.ts';
import { queryOf } from '../test/helpers/task-query.ts';
import { median, printTable } from './table.ts';

const SECRET = 'k7qz3w';
/** As long as the part of the secret that is guessed. */
const GUESSES = { masked: SECRET.slice(0, 4), absent: 'x4jv' } as const;
const TASKS = 1_000;
const ROUNDS = 400;
const LARGE = 100_000;

function historyOf(tasks: number, redactor: Redactor | null): History {
  const history = createMemoryHistory({ redactor });
  for (let index = 0; index < tasks; index += 1) {
    history.writer.recordTask({
      id: `task-${index}`,
      type: 'received',
      origin: 'event',
      time: Date.now(),
      args: `('order-${index}', {'user': 'ann', 'password': '${SECRET}'})`,
      kwargs: `{'index': ${index}, 'note': 'blue'}`,
    });
  }
  return history;
}

async function search(history: History, router: Redactor, q: string): Promise<number> {
  const matcher = createSerializer({ redactor: router }).matcher([q]);
  const query = queryOf({ limit: 10, q, search: matcher, scan: LARGE });
  // Each search gets a turn of its own.
  await new Promise((resolve) => setImmediate(resolve));
  const start = performance.now();
  const { tasks } = await history.reader.listTasks(query, { signal: new AbortController().signal });
  if (tasks.length > 0) throw new Error(`A search for ${q} has found a masked text.`);
  return performance.now() - start;
}

function welch(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [momentsOf(a), momentsOf(b)];
  return Math.abs(x.mean - y.mean) / Math.sqrt(x.variance / a.length + y.variance / b.length);
}

function momentsOf(values: readonly number[]): { readonly mean: number; readonly variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (values.length - 1) };
}

/** The fastest nine tenths: collections of garbage hit either guess by chance. */
function withoutOutliers(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b).slice(0, Math.floor(values.length * 0.9));
}

const rows: string[][] = [];
for (const [what, source] of [
  ['redacted by the source', createRedactor()],
  ['redacted by the router', null],
] as const) {
  const history = historyOf(TASKS, source);
  const router = createRedactor();
  const times: Record<keyof typeof GUESSES, number[]> = { masked: [], absent: [] };
  for (let round = -10; round < ROUNDS; round += 1) {
    // The order of the two must not matter either.
    const kinds = round % 2 === 0 ? (['masked', 'absent'] as const) : (['absent', 'masked'] as const);
    for (const kind of kinds) {
      const ms = await search(history, router, GUESSES[kind]);
      if (round >= 0) times[kind].push(ms);
    }
  }
  const [masked, absent] = [withoutOutliers(times.masked), withoutOutliers(times.absent)];
  const t = welch(masked, absent);
  rows.push([what, `${median(masked).toFixed(2)} ms`, `${median(absent).toFixed(2)} ms`, t.toFixed(1)]);
  if (t >= 4.5) process.exitCode = 1;
  history.close();
}
printTable(
  `Search of ${TASKS} tasks for a masked text and for one that is nowhere, ${ROUNDS} times each`,
  ['texts', 'masked', 'absent', '|t|'],
  rows,
);

const history = historyOf(LARGE, createRedactor());
const first = await search(history, createRedactor(), GUESSES.absent);
const later: number[] = [];
for (let round = 0; round < 5; round += 1)
  later.push(await search(history, createRedactor(), GUESSES.absent));
printTable(
  `Search of ${LARGE} tasks`,
  ['search', 'time'],
  [
    ['the first, which redacts their texts', `${Math.round(first)} ms`],
    ['later ones', `${Math.round(median(later))} ms`],
  ],
);
history.close();
process.exit();
