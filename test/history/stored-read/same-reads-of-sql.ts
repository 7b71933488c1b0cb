/** Every read of a history over a real database, compared with one memory that holds everything. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { StoreEngine, StoreSession } from '../../../src/history/store.ts';
import { expectSameDepths } from './same-depths.ts';
import {
  expectSameCauses,
  expectSameOpenTasks,
  expectSamePages,
  expectSameStats,
  expectSameTotals,
  expectSameTrees,
  type WithSession,
} from './same-reads.ts';

/** @param store of an empty database. Called after `beforeAll` of the file */
export function describeSameReads(title: string, store: () => StoreEngine, numRuns: number): void {
  describe(title, () => {
    let count = 0;
    let first: StoreSession;
    const open = (source: string): Promise<StoreSession> =>
      store().open({ source, deployment: null, isReadOnly: false });
    const withSession: WithSession = async (use) => {
      const session = await open(`jobs${count++}`);
      await use(session);
      await store().close(session);
    };
    // Keeps the database open meanwhile.
    beforeAll(async () => {
      first = await open('first');
    });
    afterAll(() => store().close(first));

    it('lists the same pages as one memory that holds everything', () =>
      expectSamePages(withSession, numRuns));
    it('counts the same tasks', () => expectSameTotals(withSession, numRuns));
    it('has the same statistics', () => expectSameStats(withSession, numRuns));
    it('adds up the same causes', () => expectSameCauses(withSession, numRuns));
    it('sums up the same open tasks', () => expectSameOpenTasks(withSession, numRuns));
    it('has the same depths of queues', () => expectSameDepths(withSession, numRuns));
    it('has the same workflows', () => expectSameTrees(withSession, numRuns));
  });
}
