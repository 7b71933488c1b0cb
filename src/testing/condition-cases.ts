/** Cases on the conditions of the task list: exclusions, prefixes, and ranges. */
import type { Task } from '../model.ts';
import { waitSecondsOf } from '../select/task-wait.ts';
import type { TaskCondition } from '../source.ts';
import type { Bench } from './bench.ts';
import type { Checks } from './checks.ts';
import { expectRows, held, taskQuery, walk } from './listing.ts';

const TEXTS = ['state', 'engineState', 'name', 'worker', 'queue', 'id'] as const;
const PREFIX_LENGTH = 4;
const { causeOf } = taskQuery({});

async function expectMeeting(
  bench: Bench,
  conditions: readonly TaskCondition[],
  holds: (row: Task) => boolean,
): Promise<void> {
  const { rows, since } = await held(bench);
  const answer = await walk(bench, taskQuery({ since, conditions }));
  expectRows(`listTasks with ${JSON.stringify(conditions)}`, answer, rows.filter(holds));
}

/** Up to two values of a field, of different lengths if possible. */
function someOf(rows: readonly Task[], field: (typeof TEXTS)[number]): readonly string[] {
  const values = new Set(rows.flatMap((row) => row[field] ?? []));
  return [...values].toSorted((a, b) => a.length - b.length).slice(0, 2);
}

/** Cases on `listTasks` with `conditions`. */
export const CONDITION_CHECKS: Checks = {
  'leaves out what a condition excludes, and keeps what is not known': async (bench) => {
    const { rows } = await held(bench);
    for (const field of TEXTS) {
      const values = [...someOf(rows, field), 'no-such-value'];
      const condition = { field, values, prefixes: [], isNegated: true };
      await expectMeeting(bench, [condition], (row) => !values.includes(row[field] ?? ''));
    }
  },

  'lists the failures of a cause, and none of an unknown one': async (bench) => {
    const { rows, since } = await held(bench);
    const ids = new Set(rows.flatMap((row) => causeOf(row)?.id ?? []));
    for (const id of [...[...ids].slice(0, 2), 'no-such-cause']) {
      const answer = await walk(bench, taskQuery({ since, causes: [id], limit: 3 }));
      const expected = rows.filter((row) => causeOf(row)?.id === id);
      expectRows(`listTasks of the cause ${id}`, answer, expected);
    }
  },

  'leaves out the causes that a condition excludes, and keeps tasks without one': async (bench) => {
    const { rows } = await held(bench);
    const failed = rows.find((row) => causeOf(row) !== null);
    const values = [(failed && causeOf(failed)?.id) ?? 'no-such-cause'];
    const condition = { field: 'cause', values, prefixes: [], isNegated: true } as const;
    await expectMeeting(bench, [condition], (row) => !values.includes(causeOf(row)?.id ?? ''));
  },

  'finds texts by their beginning, as it is written': async (bench) => {
    const { rows } = await held(bench);
    for (const field of TEXTS) {
      const prefixes = someOf(rows, field).map((value) => value.slice(0, PREFIX_LENGTH));
      if (prefixes.length === 0) continue;
      const begins = (row: Task) => prefixes.some((prefix) => (row[field] ?? '').startsWith(prefix));
      for (const isNegated of [false, true]) {
        const condition = { field, values: [], prefixes, isNegated };
        await expectMeeting(bench, [condition], (row) => begins(row) !== isNegated);
      }
    }
    for (const prefix of ['%', '_', '.*', 'no-such-beginning']) {
      const condition: TaskCondition = { field: 'name', values: [], prefixes: [prefix], isNegated: false };
      await expectMeeting(bench, [condition], (row) => row.name?.startsWith(prefix) === true);
    }
  },

  'compares run time, wait and retries, and finds no task where they are not known': async (bench) => {
    const { rows } = await held(bench);
    const figures = {
      runtime: (row: Task) => row.runtime ?? Number.NaN,
      wait: (row: Task) => waitSecondsOf(row) ?? Number.NaN,
      retries: (row: Task) => row.retries ?? Number.NaN,
    };
    for (const field of ['runtime', 'wait', 'retries'] as const) {
      const figure = figures[field];
      const than = rows.map(figure).find((value) => value >= 0) ?? 0;
      await expectMeeting(bench, [{ field, comparison: 'gt', than }], (row) => figure(row) > than);
      await expectMeeting(bench, [{ field, comparison: 'gte', than }], (row) => figure(row) >= than);
      await expectMeeting(bench, [{ field, comparison: 'lt', than }], (row) => figure(row) < than);
      await expectMeeting(bench, [{ field, comparison: 'lte', than }], (row) => figure(row) <= than);
    }
  },

  'meets all conditions at once, beside filters and texts': async (bench) => {
    const { rows } = await held(bench);
    const sample = rows.find((row) => row.name && row.worker);
    if (!sample) return bench.skip('No listed task has both a name and a worker.');
    const [prefix, worker] = [sample.name?.slice(0, 1) ?? '', sample.worker ?? ''];
    const conditions: readonly TaskCondition[] = [
      { field: 'name', values: [], prefixes: [prefix], isNegated: false },
      { field: 'worker', values: [worker], prefixes: [], isNegated: true },
    ];
    const holds = (row: Task) => row.name?.startsWith(prefix) === true && row.worker !== worker;
    await expectMeeting(bench, conditions, holds);
    const { since } = await held(bench);
    const wanted = new Set(rows.filter((_, index) => index % 2 === 0).map(({ id }) => id));
    const search = (row: Task) => wanted.has(row.id);
    const answer = await walk(bench, taskQuery({ since, conditions, q: 'x', search, limit: 3 }));
    const expected = rows.filter((row) => holds(row) && search(row));
    expectRows('listTasks with conditions and q', answer, expected);
  },
};
