import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { Task } from '../../src/model.ts';
import { selectTasks } from '../../src/select.ts';
import type { TasksBody } from '../../src/wire.ts';
import { anyText } from '../helpers/any-text.ts';
import { runs, seedOf } from '../helpers/cases.ts';
import { queryOf } from '../helpers/task-query.ts';
import { T0 } from '../history/telling.ts';
import { breakable, breakBy, type MakeMark, openClients, taskSource } from './combine-kit.ts';

const RUNS = { seed: seedOf(20_261_121), numRuns: runs(150) };
const SORTS = ['timestamp', 'started', 'runtime', 'name', 'state'] as const;

/** Few values, so that many are equal, also across parts. */
const task = fc.record({
  id: fc.nat(60).map((number) => `t${number}`),
  state: fc.constantFrom('SUCCESS', 'FAILURE', 'STARTED'),
  name: fc.option(fc.constantFrom('a', 'b', 'c')),
  timestamp: fc.option(fc.nat(20).map((seconds) => new Date(T0 + seconds * 1_000))),
  started: fc.option(fc.nat(5).map((seconds) => new Date(T0 + seconds * 1_000))),
  runtime: fc.option(fc.constantFrom(0.5, 1, 2.5)),
});
const tasksOfPart = fc.uniqueArray(task, { selector: ({ id }) => id, maxLength: 25 });
/** Marks of any characters, of up to a quarter of what all may have together, and what looks like one of ours. */
const marks = fc
  .oneof(
    anyText({ maxLength: 200 }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\u0000', '\ud800', '界', '💣'), maxLength: 40 }),
    fc.constantFrom(
      '',
      '{"key":null,"id":""}',
      '["a",1]',
      'null',
      '0',
      'combined1[{"p0":null}]',
      'tasks1["a",5,"b"]',
    ),
    fc.constant('x'.repeat(1_100)),
  )
  .map(
    (text): MakeMark =>
      (number) =>
        `${text}${number}`,
  );
const partsOfTasks = fc.array(fc.tuple(tasksOfPart, fc.option(marks)), { minLength: 2, maxLength: 4 });
const asked = fc.record({
  sort: fc.constantFrom(...SORTS),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.integer({ min: 1, max: 12 }),
  state: fc.constantFrom([], ['SUCCESS']),
});

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

function combinationOf(all: readonly (readonly [readonly Task[], MakeMark | null])[]) {
  const parts = all.map(([tasks, mark], index) => breakable(taskSource(`p${index}`, tasks, mark)));
  return { parts, sources: combineSources(...parts.map(({ part }) => ({ tasks: part }))) };
}

/** What the list must be: every row of every part, in the order of the contract. */
function expectedOf(
  all: readonly (readonly [readonly Task[], MakeMark | null])[],
  { sort, order, state: states }: Asked,
) {
  const rows = all.flatMap(([tasks], part) => tasks.map((one) => ({ ...one, part })));
  const { tasks } = selectTasks(rows, queryOf({ sort, order, states, limit: 1_000 }));
  return (tasks as typeof rows).map(({ part, id }) => `p${part} ${id}`);
}

const rowsOf = ({ tasks }: TasksBody) => tasks.map(({ source, task_id: id }) => `${source} ${id}`);

describe('a combined list', () => {
  it('gives, page by page, exactly the rows of all parts in the order of the contract, each once', async () => {
    const clientOf = await openClients();
    await fc.assert(
      fc.asyncProperty(partsOfTasks, asked, async (all, wanted) => {
        const { parts, sources } = combinationOf(all);
        const read = clientOf(sources);
        const rows: string[] = [];
        let cursor: string | null | undefined = null;
        let pages = 0;
        do {
          const page: TasksBody | null = await read('/api/tasks/', { ...wanted, cursor });
          if (page === null) throw new Error('no source answers');
          rows.push(...rowsOf(page));
          expect(page.total).toBe(expectedOf(all, wanted).length);
          cursor = page.next_cursor;
          pages += 1;
        } while (cursor !== null);
        expect(rows).toEqual(expectedOf(all, wanted));
        for (const { reads } of parts) expect(reads).toBe(pages);
      }),
      RUNS,
    );
  });

  it('gives every row that was there from the start once, whatever comes between its pages', async () => {
    const added = fc.uniqueArray(
      task.map((one) => ({ ...one, id: `new-${one.id}` })),
      { selector: ({ id }) => id, maxLength: 12 },
    );
    const three = fc.array(fc.tuple(tasksOfPart, fc.option(marks)), { minLength: 3, maxLength: 3 });
    const clientOf = await openClients();
    await fc.assert(
      fc.asyncProperty(three, marks, asked, added, async ([first, ...others], mark, wanted, late) => {
        // One of them at least continues by its own marks alone.
        const growing = [...(first?.[0] ?? [])];
        const all = [[growing, mark] as const, ...others];
        const expected = expectedOf(all, wanted);
        const read = clientOf(combinationOf(all).sources);
        const rows: string[] = [];
        const coming = [...late];
        let cursor: string | null | undefined = null;
        do {
          const page: TasksBody | null = await read('/api/tasks/', { ...wanted, cursor });
          if (page === null) throw new Error('no source answers');
          rows.push(...rowsOf(page));
          cursor = page.next_cursor;
          growing.push(...coming.splice(0, 2));
        } while (cursor !== null);
        expect(rows.filter((row) => !row.includes('new-'))).toEqual(expected);
        expect(new Set(rows).size).toBe(rows.length);
      }),
      RUNS,
    );
  });

  it('goes on while parts fail now and then: nothing comes twice, and nothing is lost', async () => {
    const failing = fc.array(fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), { maxLength: 12 });
    const clientOf = await openClients();
    await fc.assert(
      fc.asyncProperty(partsOfTasks, asked, failing, async (all, wanted, plan) => {
        const { parts, sources } = combinationOf(all);
        const read = clientOf(sources);
        const rows: string[] = [];
        let cursor: string | null | undefined = null;
        for (let step = 0; ; step += 1) {
          breakBy(parts, plan[step]);
          const page: TasksBody | null = await read('/api/tasks/', { ...wanted, cursor });
          if (page === null) {
            // None of those that have more to give is there: the same page, once more.
            expect(plan[step]).toContain(true);
            continue;
          }
          rows.push(...rowsOf(page));
          cursor = page.next_cursor;
          if (cursor === null) break;
        }
        expect(rows.toSorted()).toEqual(expectedOf(all, wanted).toSorted());
        for (const [index] of all.entries()) {
          const own = (row: string) => row.startsWith(`p${index} `);
          expect(rows.filter(own)).toEqual(expectedOf(all, wanted).filter(own));
        }
      }),
      RUNS,
    );
  });
});
