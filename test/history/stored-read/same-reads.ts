/** Random histories, read from one memory that holds everything, and from a small memory and a store. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { StoreSession } from '../../../src/history/store.ts';
import { causesOfStore } from '../../../src/history/stored/read/stored-causes.ts';
import { statsWindow } from '../../../src/select/stats-steps.ts';
import type { OpenTaskSummary, TaskGroup, TaskStats } from '../../../src/source.ts';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, query, T0 } from '../telling.ts';
import { namesAndWorkers, oneOrTwo, queries, splitOf, splits } from './random-splits.ts';
import { expectSameTree, workflows } from './random-workflows.ts';
import { expectSameWalk } from './same-walk.ts';

/** Calls a function with the session of an empty source, and closes it. */
export type WithSession = (use: (session: StoreSession) => Promise<void>) => Promise<void>;

/** Sessions of stores in arrays. */
export const arraySessions: WithSession = async (use) =>
  use(await createArrayStore().open({ source: 'jobs', deployment: null, isReadOnly: false }));

/** Expects the same pages, for every sort, order, filter and page size. */
export async function expectSamePages(withSession: WithSession, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(splits, queries, (given, { filter, ...part }) =>
    withSession(async (session) => {
      const { whole, reader } = await splitOf(given, session);
      await expectSameWalk(reader, whole.reader, { ...filter, ...part });
    }),
  );
  await fc.assert(property, { numRuns });
}

/** Expects the same totals of filters. */
export async function expectSameTotals(withSession: WithSession, numRuns: number): Promise<void> {
  let counted = 0;
  const property = fc.asyncProperty(splits, oneOrTwo, (given, filter) =>
    withSession(async (session) => {
      const { whole, reader } = await splitOf({ ...given, lost: [] }, session);
      // What no column has is not counted.
      const conditions = (filter.conditions ?? []).filter(
        ({ field }) => !['wait', 'retries', 'engineState'].includes(field),
      );
      const part = query({
        ...filter,
        conditions,
        q: null,
        limit: 2,
        sort: 'name',
        order: 'asc',
      });
      const page = await reader.listTasks(part, CONTEXT);
      expect(page.total).toBe((await whole.reader.listTasks(part, CONTEXT)).total);
      counted += page.total ?? 0;
    }),
  );
  await fc.assert(property, { numRuns });
  expect(counted).toBeGreaterThan(0);
}

/**
 * Without what is known of before: of tasks that do not match, the store is not asked. Without queues over time, which
 * are counted by minute as messages arrive, and not from the tasks that are split here.
 */
const inWindow = ({ causes = [], queueDepths: _, ...stats }: TaskStats) => ({
  ...stats,
  causes: causes.map(({ firstSeen: _first, isNew: _new, ...cause }) => cause),
});

/** Expects the same statistics of filters. */
export async function expectSameStats(withSession: WithSession, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(splits, oneOrTwo, (given, filter) =>
    withSession(async (session) => {
      const { whole, reader } = await splitOf(given, session);
      const asked = {
        minutes: 60,
        now: new Date(T0 + 1_000),
        causes: 9,
        callers: true,
        filter: query(filter),
      };
      const expected = await whole.reader.getTaskStats(asked, CONTEXT);
      const both = await reader.getTaskStats(asked, CONTEXT);
      expect(inWindow(both)).toEqual({
        ...inWindow(expected),
        ...{ computedFrom: 'tasks', countedSince: null },
      });
    }),
  );
  await fc.assert(property, { numRuns });
}

const withoutBefore = <Rest>({
  causes,
  ...rest
}: Rest & { readonly causes: NonNullable<TaskStats['causes']> }) => ({
  ...rest,
  causes: causes.map(({ firstSeen: _first, isNew: _new, ...cause }) => cause),
});

/** Expects a store that has all tasks to add up the same causes as a memory that holds them. */
export async function expectSameCauses(withSession: WithSession, numRuns: number): Promise<void> {
  let found = 0;
  const property = fc.asyncProperty(splits, namesAndWorkers, (given, filter) =>
    withSession(async (session) => {
      const { whole } = await splitOf({ ...given, lost: [], kinds: given.kinds.map(() => 'both') }, session);
      const asked = {
        ...{ minutes: 60, now: new Date(T0 + 1_000), stepSeconds: 60, causes: 2 },
        filter: query(filter),
      };
      const { causes = [], causesTruncated } = await whole.reader.getTaskStats(asked, CONTEXT);
      await session.causes.note(causes.map((cause) => ({ ...cause, firstSeen: T0, lastSeen: T0 })));
      const stored = await causesOfStore(session, asked, statsWindow(asked), null, CONTEXT);
      expect(withoutBefore(stored)).toEqual(
        withoutBefore({ causes, causesTruncated: causesTruncated ?? null }),
      );
      found += causes.length;
    }),
  );
  await fc.assert(property, { numRuns });
  expect(found).toBeGreaterThan(0);
}

/** Without the examples, of which a group names a few of many. */
const comparable = ({ running, isWhole, lost, overdue, missing, waiting }: OpenTaskSummary) => {
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
};

/** Expects the same sums of open tasks. */
export async function expectSameOpenTasks(withSession: WithSession, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(splits, (given) =>
    withSession(async (session) => {
      const { whole, reader } = await splitOf(given, session);
      const { open } = await reader.getActivity(CONTEXT);
      expect(comparable(open)).toEqual(comparable((await whole.reader.getActivity(CONTEXT)).open));
    }),
  );
  await fc.assert(property, { numRuns });
}

/** Expects the same workflows. */
export async function expectSameTrees(withSession: WithSession, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(workflows, (given) =>
    withSession((session) => expectSameTree(given, session)),
  );
  await fc.assert(property, { numRuns });
}
