/** Cases on the task list: its rows, filters, order and pages. */
import type { Task } from '../model.ts';
import { waitSecondsOf } from '../select/durations.ts';
import type { TaskCondition, TaskFilter } from '../source.ts';
import { type Bench, type Checks, NO_SEED } from './bench.ts';
import {
  expectFiltered,
  expectIds,
  expectOrder,
  expectRows,
  held,
  idsOf,
  page,
  sorted,
  taskQuery,
  walk,
} from './listing.ts';
import { SEEDED_SECRET } from './sample-tasks.ts';
import { fail } from './shape.ts';

const TIMES = ['sent', 'received', 'started', 'finished', 'timestamp'] as const;
const WORDS = ['name', 'worker', 'queue', 'parentId', 'rootId', 'groupId', 'chordId'] as const;
const NO_TIMES = 'No listed task has a timestamp.';
const TOO_MANY = 'The source has more tasks than this case can try.';

/** Up to five different values of one field. */
function valuesOf(rows: readonly Task[], field: keyof Task): readonly string[] {
  const values = rows.map((row) => row[field]).filter((value) => typeof value === 'string');
  return [...new Set(values)].slice(0, 5);
}

/** Walks the list in every order, by pages of these sizes. */
async function expectOrders(bench: Bench, sizesFor: (rows: number) => readonly number[]): Promise<void> {
  const { rows, since } = await held(bench);
  for (const sort of bench.can.sorts) {
    for (const order of ['asc', 'desc'] as const) {
      const expected = sorted(rows, sort, order);
      for (const limit of sizesFor(rows.length)) {
        const answer = await walk(bench, taskQuery({ since, sort, order, limit }));
        expectOrder(bench, `pages of ${limit} by ${sort} ${order}`, answer, expected, sort);
      }
    }
  }
}

/** Cases on `listTasks`. */
export const TASK_CHECKS: Checks = {
  'lists every seeded task with its known values': async (bench) => {
    if (!bench.seeded) return bench.skip(NO_SEED);
    const { rows } = await held(bench);
    for (const task of bench.seeded) {
      const row = rows.find((candidate) => candidate.id === task.id);
      if (!row) fail('listTasks', `a row of ${task.id}`, `${rows.length} others`);
      if (row.state !== task.state) fail(`state of ${task.id}`, task.state, row.state);
      // A source need not know every field, but what it reports must be right.
      for (const field of WORDS) {
        const known = row[field] ?? null;
        if (known !== null && known !== task[field])
          fail(`${field} of ${task.id}`, String(task[field]), known);
      }
      for (const field of TIMES) {
        const known = row[field] ?? null;
        if (known && known.getTime() !== task[field]?.getTime()) {
          fail(`${field} of ${task.id}`, task[field]?.toISOString() ?? 'null', known);
        }
      }
    }
  },

  'hides secrets in tasks that it calls redacted': async (bench) => {
    if (!bench.seeded) return bench.skip(NO_SEED);
    const { rows } = await held(bench);
    if (rows.every(({ redacted }) => redacted !== true)) bench.skip('The source redacts no listed task.');
    for (const { id, redacted, args, kwargs, result, exception, traceback } of rows) {
      if (redacted !== true) continue;
      for (const text of [args, kwargs, result, exception, traceback]) {
        if (typeof text === 'string' && text.includes(SEEDED_SECRET)) {
          fail(`listTasks, task ${id}`, 'no secret in a redacted task', text);
        }
      }
    }
  },

  'counts all matching tasks in total, or returns null': async (bench) => {
    const { rows, since } = await held(bench);
    const [first] = valuesOf(rows, 'state');
    for (const states of first && bench.can.filters.includes('states') ? [[], [first]] : [[]]) {
      const matching = rows.filter((row) => states.length === 0 || states.includes(row.state)).length;
      for (const limit of [0, 1, 1000]) {
        const { total } = await page(bench, taskQuery({ since, states, limit }));
        const expected = bench.can.total ? matching : 'null';
        if (total !== null && total !== expected) fail(`total with limit ${limit}`, `${expected}`, total);
      }
    }
  },

  'returns no rows for a limit of 0': async (bench) => {
    const { tasks } = await page(bench, taskQuery({ limit: 0 }));
    if (tasks.length > 0) fail('listTasks with limit 0', 'no rows', tasks);
  },

  'filters by any of several states, names, workers and queues': async (bench) => {
    const { rows } = await held(bench);
    const fields = {
      states: 'state',
      engineStates: 'engineState',
      names: 'name',
      workers: 'worker',
      queues: 'queue',
    } as const;
    for (const [filter, field] of Object.entries(fields)) {
      if (!bench.can.filters.includes(filter as TaskFilter)) continue;
      const values = valuesOf(rows, field);
      for (const wanted of [...values.map((value) => [value]), values, ['no-such-value']]) {
        if (wanted.length === 0) continue;
        const what = `listTasks with ${filter} ${wanted.join(', ')}`;
        await expectFiltered(bench, what, { [filter]: wanted }, (row) => wanted.includes(row[field] ?? ''));
      }
    }
  },

  'filters by root, parent and group': async (bench) => {
    const { rows } = await held(bench);
    const fields = (['rootId', 'parentId', 'groupId'] as const).filter((field) =>
      bench.can.filters.includes(field),
    );
    if (fields.length === 0) bench.skip('The source can filter by none of them.');
    for (const field of fields) {
      for (const wanted of [...valuesOf(rows, field), 'no-such-id']) {
        const what = `listTasks with ${field} ${wanted}`;
        await expectFiltered(bench, what, { [field]: wanted }, (row) => row[field] === wanted);
      }
    }
  },

  'combines filters: all of them must match': async (bench) => {
    const { rows } = await held(bench);
    const sample = rows.find((row) => row.name && row.worker);
    if (!sample) return bench.skip('No listed task has both a name and a worker.');
    const { name, worker, state } = sample as { name: string; worker: string; state: string };
    await expectFiltered(
      bench,
      `listTasks with name ${name}, worker ${worker} and state ${state}`,
      { names: [name], workers: [worker], states: [state] },
      (row) => row.name === name && row.worker === worker && row.state === state,
    );
  },

  'matches q by search() alone': async (bench) => {
    const { rows } = await held(bench);
    const wanted = new Set(rows.filter((_, index) => index % 3 === 1).map((row) => row.id));
    const search = (row: Task) => wanted.has(row.id);
    await expectFiltered(bench, 'listTasks with q', { q: 'in no field at all', search }, search);
  },

  'treats since as inclusive and until as exclusive': async (bench) => {
    const { rows, since: oldest } = await held(bench);
    const times = rows.map((row) => row.timestamp).filter((time) => time instanceof Date);
    if (times.length === 0) bench.skip(NO_TIMES);
    for (const edge of [times.at(-1), times[Math.floor(times.length / 2)], times[0]]) {
      if (!edge) continue;
      const after = (row: Task) => !!row.timestamp && row.timestamp >= edge;
      const before = (row: Task) => !!row.timestamp && row.timestamp < edge;
      await expectFiltered(bench, `listTasks since ${edge.toISOString()}`, { since: edge }, after);
      await expectFiltered(
        bench,
        `listTasks until ${edge.toISOString()}`,
        { until: edge },
        (row) => before(row) && (!oldest || (row.timestamp ?? edge) >= oldest),
      );
    }
  },

  'sorts by each field in both orders, ties by id, rows without a value last': (bench) =>
    expectOrders(bench, () => [1000]),

  'returns each row once over pages of any size, in every order': (bench) =>
    expectOrders(bench, (rows) => (rows > 200 ? [97] : [1, 7])),

  'continues after a row at the position that endAt() returns': async (bench) => {
    let positions = 0;
    for (const sort of bench.can.sorts) {
      const query = taskQuery({ sort, limit: 7 });
      const { tasks, endAt } = await page(bench, query);
      const expected = idsOf(await walk(bench, query, 20)).slice(0, 14);
      for (const count of endAt === undefined ? [] : [1, 4, 6].filter((one) => one < tasks.length)) {
        const after = endAt?.(count)?.next ?? null;
        if (after === null) continue;
        positions += 1;
        const { tasks: next } = await page(bench, taskQuery({ ...query, after }));
        const rows = [...tasks.slice(0, count), ...next];
        const what = `listTasks by ${sort} after row ${count} of a page`;
        expectIds(what, idsOf(rows), expected.slice(0, rows.length));
      }
    }
    if (positions === 0) bench.skip('No page of several rows has endAt().');
  },

  'marks the last page as the last': async (bench) => {
    const { rows, since } = await held(bench);
    if (rows.length > 1000) bench.skip(TOO_MANY);
    // The page is exactly full, which exposes a source that only compares its length with the limit.
    const { next } = await page(bench, taskQuery({ since, limit: rows.length }));
    if (next !== null) fail('listTasks().next of the last page', 'null', next);
  },

  'pages through filtered rows with a small scan limit': async (bench) => {
    const { rows, since } = await held(bench);
    if (rows.length > 200) bench.skip(TOO_MANY);
    const wanted = new Set(rows.filter((_, index) => index % 5 === 2).map((row) => row.id));
    const search = (row: Task) => wanted.has(row.id);
    const answer = await walk(bench, taskQuery({ since, q: 'x', search, limit: 2, scan: 4 }));
    expectRows('listTasks with q and a small scan', answer, rows.filter(search));
  },

  'continues after a position whose row is gone': async (bench) => {
    const { rows, since } = await held(bench);
    const placed = rows.filter((row) => row.timestamp);
    const [middle] = placed.slice(Math.floor(placed.length / 2));
    if (!middle?.timestamp) return bench.skip(NO_TIMES);
    // A position between two rows: no task has this id.
    const after = { key: middle.timestamp.getTime(), id: `${middle.id}!` };
    const answer = await walk(bench, taskQuery({ since, after }));
    expectRows('listTasks after a position between two rows', answer, rows.slice(rows.indexOf(middle) + 1));
  },
};

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
