/** Cases on the conditions of the task list: exclusions, prefixes, and ranges. */
import type { Task } from '../model.ts';
import { waitSecondsOf } from '../select/task-figures.ts';
import type { TaskCondition } from '../source.ts';
import type { Bench, Checks } from './bench.ts';
import { expectFiltered, held, taskQuery } from './listing.ts';

const TEXTS = ['state', 'engineState', 'name', 'worker', 'queue', 'id'] as const;
const PREFIX_LENGTH = 4;
const { causeOf } = taskQuery({});

async function expectMeeting(
  bench: Bench,
  conditions: readonly TaskCondition[],
  holds: (row: Task) => boolean,
): Promise<void> {
  await expectFiltered(bench, `listTasks with ${JSON.stringify(conditions)}`, { conditions }, holds);
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
    const { rows } = await held(bench);
    const ids = new Set(rows.flatMap((row) => causeOf(row)?.id ?? []));
    for (const id of [...[...ids].slice(0, 2), 'no-such-cause']) {
      const holds = (row: Task) => causeOf(row)?.id === id;
      await expectFiltered(bench, `listTasks of the cause ${id}`, { causes: [id], limit: 3 }, holds);
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
    const comparisons = {
      gt: (value: number, than: number) => value > than,
      gte: (value: number, than: number) => value >= than,
      lt: (value: number, than: number) => value < than,
      lte: (value: number, than: number) => value <= than,
    };
    for (const field of ['runtime', 'wait', 'retries'] as const) {
      const figure = figures[field];
      const than = rows.map(figure).find((value) => value >= 0) ?? 0;
      for (const comparison of ['gt', 'gte', 'lt', 'lte'] as const) {
        const holds = (row: Task) => comparisons[comparison](figure(row), than);
        await expectMeeting(bench, [{ field, comparison, than }], holds);
      }
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
    const wanted = new Set(rows.filter((_, index) => index % 2 === 0).map(({ id }) => id));
    const search = (row: Task) => wanted.has(row.id);
    await expectFiltered(
      bench,
      'listTasks with conditions and q',
      { conditions, q: 'x', search, limit: 3 },
      (row) => holds(row) && search(row),
    );
  },
};
