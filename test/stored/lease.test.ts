import { describe, expect, it, vi } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { AT_ONCE, instanceOf, runTask, sendTask } from './instances.ts';

const WAIT = { timeout: 30_000, interval: 10 };

const holders = (histories: readonly StoredHistory[]): number =>
  histories.filter((history) => history.isHolder()).length;

describe('the lease', () => {
  it('has one holder, and another instance takes it when that one is closed', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store }, {}, AT_ONCE);
    await vi.waitFor(() => expect(one.isHolder()).toBe(true), WAIT);
    const other = instanceOf({ store }, {}, AT_ONCE);
    const heard: boolean[] = [];
    other.onLease((isHolder) => heard.push(isHolder));
    await vi.waitFor(() => expect(other.status().isHolder).toBe(false), WAIT);
    await one.close();
    await vi.waitFor(() => expect(heard).toEqual([true]), WAIT);
    expect(other.isHolder()).toBe(true);
  });

  it('is lost by a holder that cannot reach the database, before another one takes it', async () => {
    const store = createArrayStore();
    const [one, other] = [instanceOf({ store }), instanceOf({ store })];
    await vi.waitFor(() => expect(holders([one, other])).toBe(1), WAIT);
    const [holder, waiting] = one.isHolder() ? [one, other] : [other, one];
    const held = store.rows('celery').lease?.holder;
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, holders([one, other]))), 2);
    // The database answers everybody but the holder.
    const lost = vi.fn();
    holder.onLease(lost);
    store.refuses = (instance) => instance === held;
    await vi.waitFor(() => expect(waiting.isHolder()).toBe(true), WAIT);
    clearInterval(watch);
    expect(most).toBe(1);
    expect(lost).toHaveBeenCalledWith(false);
    expect(holder.status().isHolder).toBeNull();
  });

  it('is given back by an instance that does not want it', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store });
    await vi.waitFor(() => expect(one.isHolder()).toBe(true), WAIT);
    one.wantLease(false);
    await vi.waitFor(() => expect(store.rows('celery').lease).toBeNull(), WAIT);
    expect(one.isHolder()).toBe(false);
    one.wantLease(true);
    await vi.waitFor(() => expect(one.isHolder()).toBe(true), WAIT);
  });

  it('goes by the clock of the database: wrong clocks of instances do no harm', async () => {
    const store = createArrayStore();
    const day = 86_400_000;
    const one = instanceOf({ store }, { now: () => Date.now() + 3 * day });
    const other = instanceOf({ store }, { now: () => Date.now() - 3 * day });
    await vi.waitFor(() => expect(holders([one, other])).toBe(1), WAIT);
    // Each asks for the lease again and again.
    const before = store.calls.length;
    const asked = () => store.calls.slice(before).filter((call) => call === 'lease.acquire').length;
    await vi.waitFor(() => {
      expect(holders([one, other])).toBe(1);
      expect(asked()).toBeGreaterThan(10);
    }, WAIT);
    for (const history of [one, other]) runTask(history, 'a');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    const [task] = store.rows('celery').tasks.values();
    expect(task?.day).toBe(Math.floor(Date.now() / day));
  });

  it('hands over what both have heard: the next holder writes what the last one had not', async () => {
    const store = createArrayStore();
    const [one, other] = [instanceOf({ store }), instanceOf({ store })];
    await vi.waitFor(() => expect(holders([one, other])).toBe(1), WAIT);
    const holder = one.isHolder() ? one : other;
    const held = store.rows('celery').lease?.holder;
    for (const history of [one, other]) sendTask(history, 'a');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    store.refuses = (instance) => instance === held;
    store.before = (call) => {
      // As if the process of the holder was killed: it writes nothing more.
      if (call.startsWith('tasks.') && holder.isHolder()) throw new Error('killed');
    };
    for (const history of [one, other]) sendTask(history, 'b');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(2), WAIT);
  });
});

describe('texts that instances share', () => {
  it('are published by the holder and read by the others', async () => {
    const store = createArrayStore();
    const leader = instanceOf({ store });
    await vi.waitFor(() => expect(leader.isHolder()).toBe(true), WAIT);
    const follower = instanceOf({ store, hearing: 'nothing' });
    follower.texts.publish('queues', 'nobody asked');
    leader.texts.publish('queues', 'one');
    await vi.waitFor(() => expect(follower.texts.read('queues')).toBe('one'), WAIT);
    const revision = follower.texts.revision();
    leader.texts.publish('queues', 'two');
    await vi.waitFor(() => expect(follower.texts.read('queues')).toBe('two'), WAIT);
    expect(follower.texts.revision()).toBeGreaterThan(revision);
    // Texts are read again only where one has changed.
    store.calls.length = 0;
    const count = (name: string) => store.calls.filter((call) => call === name).length;
    await vi.waitFor(() => expect(count('snapshots.revisions')).toBeGreaterThan(4), WAIT);
    expect(count('snapshots.read')).toBeLessThanOrEqual(1);
  });

  it('bring workers and feed to an instance that hears nothing', async () => {
    const store = createArrayStore();
    const leader = instanceOf({ store });
    const follower = instanceOf({ store, hearing: 'nothing' });
    const context = { signal: new AbortController().signal };
    await vi.waitFor(() => expect(leader.isHolder()).toBe(true), WAIT);
    runTask(leader, 'a');
    leader.writer.recordWorker({ type: 'online', hostname: 'celery@one', time: Date.now(), pid: 7 });
    await vi.waitFor(async () => {
      const workers = await follower.reader.listWorkers(context);
      expect(workers).toMatchObject([{ hostname: 'celery@one', status: 'online' }]);
    }, WAIT);
    const query = { since: null, limit: 10, states: [], workers: [], tasks: [] };
    await vi.waitFor(async () => {
      const { events } = await follower.reader.listEvents(query, context);
      expect(events.map(({ type }) => type)).toContain('task-succeeded');
    }, WAIT);
  });
});
