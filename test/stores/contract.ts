/** What every store must do, whatever keeps it. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { StoreEngine, StoreSession } from '../../src/history/store.ts';
import { describeCauses } from './contract-causes.ts';
import { describeFeed, describeLease, describeOthers } from './contract-rest.ts';
import { describeLists, describeRetention, describeTasks } from './contract-tasks.ts';
import { type Open, storedQuery, taskOf } from './samples.ts';

/** What the suite is run against. */
export interface ContractSubject {
  /** Another store in the same database, as another process would open it. */
  createStore(): StoreEngine;
}

let sources = 0;

/** Runs the suite. Each test has a source of its own; instances that share one have stores of their own. */
export function storeContract(title: string, subject: () => ContractSubject): void {
  let shared: StoreEngine;
  let first: StoreSession;
  const open: Open = async (given = {}) => {
    const { source = `source-${++sources}`, deployment = null } = given;
    const store = given.store ?? (given.source === undefined ? shared : subject().createStore());
    const session = await store.open({ source, deployment, isReadOnly: false });
    onTestFinished(() => store.close(session));
    return { source, store, session };
  };
  describe(title, () => {
    // Keeps the store open from test to test.
    beforeAll(async () => {
      shared = subject().createStore();
      first = await shared.open({ source: 'first', deployment: null, isReadOnly: false });
    });
    afterAll(() => shared.close(first));
    describeTasks(open);
    describeLists(open);
    describeCauses(open);
    describeRetention(open);
    describeOthers(open);
    describeFeed(open);
    describeLease(open);
    describeOpening(open, subject);
  });
}

function describeOpening(open: Open, subject: () => ContractSubject): void {
  it('refuses a second deployment under one name', async () => {
    const { source } = await open({ deployment: 'one' });
    await open({ source, deployment: 'one' });
    await open({ source, deployment: null });
    await expect(open({ source, deployment: 'two' })).rejects.toMatchObject({
      code: 'source_taken',
      remedy: expect.stringContaining('another name'),
    });
  });

  it('registers one of two deployments that start at once', async () => {
    const { source } = await open();
    const results = await Promise.allSettled(
      ['one', 'two'].map((deployment) => open({ source, deployment })),
    );
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('gives sources that start at once numbers of their own', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => open()));
    await Promise.all(all.map(({ session, source }) => session.tasks.write([taskOf(source)])));
    for (const { session, source } of all)
      expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual([source]);
  });

  it('only reads where it is told so', async () => {
    const { source, session } = await open();
    await session.tasks.write([taskOf('a')]);
    const store = subject().createStore();
    const reader = await store.open({ source, deployment: 'any', isReadOnly: true });
    expect(reader.isReadOnly).toBe(true);
    expect(await reader.tasks.read(['a'])).toEqual([taskOf('a')]);
    expect(await reader.lease.look()).toMatchObject({ isHeld: false });
    await store.close(reader);
    await expect(store.open({ source: 'absent', deployment: null, isReadOnly: true })).rejects.toMatchObject({
      code: 'source_missing',
    });
    await open({ source, deployment: 'first' });
  });
}
