/** Random histories, read from one memory that holds everything, and from a small memory and a store. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HistoryReader } from '../../src/history/history.ts';
import type { StoreEngine, StoreSession } from '../../src/history/store.ts';
import type { TaskDetail, TaskTree } from '../../src/model.ts';
import type { OpenTaskSummary, TaskGroup, TaskPage, TaskQuery, TaskStats } from '../../src/source.ts';
import { CONTEXT, query, T0 } from '../history/telling.ts';
import { families, histories, lists, namesAndWorkers, oneOrTwo, workflows } from './random-histories.ts';
import { type Sides, type Split, splitOf, type Told } from './split.ts';

/** The days for which a store keeps tasks: with none, statistics are made of counts. */
type StoreFor = (taskDays: number) => StoreEngine;

interface Given {
  readonly told: Told;
  readonly split: Split;
}

/** @param storeFor opens a store of one database. Called twice, after `beforeAll` of the file */
export function describeSameReads(title: string, storeFor: StoreFor, numRuns: number): void {
  let count = 0;
  const keepers: {
    readonly taskDays: number;
    readonly store: StoreEngine;
    readonly session: StoreSession;
  }[] = [];
  const withSides = async (given: Given, use: (sides: Sides) => Promise<void>, taskDays = 7) => {
    const keeper = keepers.find((one) => one.taskDays === taskDays);
    if (keeper === undefined) throw new Error('no store');
    const sides = await splitOf(keeper.store, `jobs${count++}`, given.told, given.split);
    try {
      await use(sides);
    } finally {
      await sides.close();
    }
  };
  const check = async <Input>(
    inputs: fc.Arbitrary<Input & Given>,
    use: (sides: Sides, input: Input & Given) => Promise<void>,
    taskDays?: number,
  ) => {
    const property = fc.asyncProperty(inputs, (input) =>
      withSides(input, (sides) => use(sides, input), taskDays),
    );
    // Making a failing history smaller would take minutes.
    await fc.assert(property, { numRuns, endOnFailure: true });
  };
  const filtered = fc.tuple(histories, oneOrTwo).map(([given, filter]) => ({ ...given, filter }));

  describe(title, { timeout: 240_000 }, () => {
    // They keep the database open meanwhile.
    beforeAll(async () => {
      for (const taskDays of [7, 0]) {
        const store = storeFor(taskDays);
        const session = await store.open({ source: `kept${taskDays}`, deployment: null, isReadOnly: false });
        keepers.push({ taskDays, store, session });
      }
    });
    afterAll(() => Promise.all(keepers.splice(0).map(({ store, session }) => store.close(session))));

    it('has the same pages for every sort, order, filter and page size, the same tasks, statistics and open tasks', async () => {
      const asked = fc.tuple(filtered, lists).map(([given, list]) => ({ ...given, list }));
      await check(asked, async ({ whole, split }, { told, filter, list }) => {
        await expectSameWalk(split.reader, whole, { ...filter, ...list });
        for (const id of new Set(told.changes.map((change) => change.id))) {
          const [own, expected] = [await split.reader.getTask(id, CONTEXT), await whole.getTask(id, CONTEXT)];
          expect(detailOf(own)).toEqual(detailOf(expected));
        }
        const wanted = { minutes: 60, now: new Date(T0 + 1_000), causes: 9, filter: query(filter) };
        const stats = inWindow(await whole.getTaskStats(wanted, CONTEXT));
        const found = await split.reader.getTaskStats(wanted, CONTEXT);
        expect(inWindow(found)).toEqual({ ...stats, computedFrom: 'tasks' });
        const { open } = await split.reader.getActivity(CONTEXT);
        expect(openOf(open)).toEqual(openOf((await whole.getActivity(CONTEXT)).open));
      });
    });

    it('counts the same tasks of a filter, where all are written', async () => {
      let counted = 0;
      const all = filtered.map((given) => ({ ...given, split: { ...given.split, written: 1 } }));
      await check(all, async ({ whole, split }, { filter }) => {
        // What no column has is not counted.
        const conditions = (filter.conditions ?? []).filter(
          ({ field }) => !['wait', 'retries', 'engineState'].includes(field),
        );
        const part = query({ ...filter, conditions, q: null, limit: 2, sort: 'name', order: 'asc' });
        const page = await split.reader.listTasks(part, CONTEXT);
        expect(page.total).toBe((await whole.listTasks(part, CONTEXT)).total);
        counted += page.total ?? 0;
      });
      expect(counted).toBeGreaterThan(0);
    });

    it('has the same callers', async () => {
      let related = 0;
      const named = fc
        .tuple(families, fc.constantFrom('lab.add', 'zoo'))
        .map(([given, name]) => ({ ...given, name }));
      await check(named, async ({ whole, split }, { name }) => {
        const filter = query({ names: [name] });
        const asked = { minutes: 60, now: new Date(T0 + 1_000), callers: true, filter };
        const { callers, callees } = await whole.getTaskStats(asked, CONTEXT);
        expect(await split.reader.getTaskStats(asked, CONTEXT)).toMatchObject({ callers, callees });
        related += (callers?.length ?? 0) + (callees?.length ?? 0);
      });
      expect(related).toBeGreaterThan(0);
    });

    it('adds up the same causes, where they are made of counts', async () => {
      let found = 0;
      const all = fc
        .tuple(histories, namesAndWorkers)
        .map(([given, filter]) => ({ ...given, split: { ...given.split, written: 1 }, filter }));
      await check(
        all,
        async ({ whole, split }, { filter }) => {
          const asked = {
            ...{ minutes: 60, now: new Date(T0 + 1_000), stepSeconds: 60, causes: 2 },
            filter: query(filter),
          };
          const expected = await whole.getTaskStats(asked, CONTEXT);
          const stored = await split.reader.getTaskStats(asked, CONTEXT);
          expect(stored.computedFrom).toBe('rollups');
          expect(inWindow(stored).causes).toEqual(inWindow(expected).causes);
          // The store may know that it keeps no task of the window.
          if (expected.causesTruncated === true) expect(stored.causesTruncated).toBe(true);
          found += expected.causes?.length ?? 0;
        },
        0,
      );
      expect(found).toBeGreaterThan(0);
    });

    it('has the same workflows', async () => {
      await check(workflows, async ({ whole, split }, { asked }) => {
        const tree = await split.reader.getTaskTree(asked, CONTEXT);
        expect(treeOf(tree)).toEqual(treeOf(await whole.getTaskTree(asked, CONTEXT)));
      });
    });
  });
}

async function pagesOf(reader: HistoryReader, part: Partial<TaskQuery>): Promise<TaskPage[]> {
  const pages: TaskPage[] = [];
  for (let after: TaskQuery['after'] = null; pages.length < 100; ) {
    const page: TaskPage = await reader.listTasks(query({ ...part, after }), CONTEXT);
    pages.push(page);
    if (page.next === null) return pages;
    after = page.next;
  }
  throw new Error('the walk does not end');
}

/** Expects the same pages of both, with the same totals where these are known. */
async function expectSameWalk(
  reader: HistoryReader,
  whole: HistoryReader,
  part: Partial<TaskQuery>,
): Promise<void> {
  const expected = await pagesOf(whole, part);
  const pages = await pagesOf(reader, part);
  const texts = (list: readonly TaskPage[]) =>
    list.map(({ tasks, next }) => ({ next, tasks: tasks.map((task) => JSON.stringify(task)) }));
  expect(texts(pages)).toEqual(texts(expected));
  for (const [at, { total }] of pages.entries()) {
    if (total !== null) expect(total).toBe(expected[at]?.total);
  }
  expect(pages.every(({ cursorExact }) => cursorExact !== false)).toBe(true);
}

/**
 * Without what is known of before: of tasks that do not match, the store is not asked. Without queues over time, which
 * are counted by minute as messages arrive.
 */
const inWindow = ({ causes = [], queueDepths: _, countedSince: _since, ...stats }: TaskStats) => ({
  ...stats,
  causes: causes.map(({ firstSeen: _first, isNew: _new, ...cause }) => cause),
});

/** Without the examples, of which a group names a few of many. */
function openOf({ running, isWhole, lost, overdue, missing, waiting }: OpenTaskSummary) {
  const plain = <Group extends TaskGroup>(group: Group | null | undefined) =>
    group == null ? null : JSON.stringify({ ...group, states: [...group.states].sort(), examples: [] });
  return {
    running: running.map((task) => JSON.stringify(task)).sort(),
    isWhole,
    lost: lost.map(plain).sort(),
    overdue: plain(overdue),
    missing: plain(missing),
    waiting: waiting.map(plain).sort(),
  };
}

const detailOf = (task: TaskDetail | null) =>
  task === null ? null : { ...task, children: [...(task.children ?? [])].sort() };

function treeOf(tree: TaskTree | null) {
  if (tree === null) return null;
  const text = (value: unknown): string => JSON.stringify(value);
  const { tasks, relations = [] } = tree;
  return {
    ...tree,
    tasks: tasks.map(text).sort(),
    relations: relations.map(({ parent, child, relation }) => text([parent, child, relation])).sort(),
  };
}
