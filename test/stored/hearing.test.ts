import { describe, expect, it, vi } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT } from '../history/telling.ts';
import { AT_ONCE, instanceOf, runTask, sendTask, taskIn } from './instances.ts';

const WAIT = { timeout: 30_000, interval: 10 };
const DAY_MS = 86_400_000;

describe('what an instance hears', () => {
  it('fills its memory when it begins to hear everything, and empties it when it hears nothing', async () => {
    const store = createArrayStore();
    const leader = instanceOf({ store });
    runTask(leader, 'a');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    const follower = instanceOf({ store, hearing: 'nothing' });
    await vi.waitFor(() => expect(follower.status().phase).toBe('ready'), WAIT);
    expect(follower.index.stateOf('a')).toBeNull();
    expect(await taskIn(follower, 'a')).toMatchObject({ state: 'SUCCESS' });
    await leader.close();
    await vi.waitFor(() => expect(follower.isHolder()).toBe(true), WAIT);
    await follower.setHearing('all');
    await vi.waitFor(() => expect(follower.index.stateOf('a')).toBe('SUCCESS'), WAIT);
    runTask(follower, 'b');
    await follower.setHearing('nothing');
    expect([...store.rows('celery').tasks.values()].map(({ id }) => id).sort()).toEqual(['a', 'b']);
    expect(follower.index.stateOf('a')).toBeNull();
    expect((await follower.reader.getStats(CONTEXT)).tasks).toBe(0);
  });

  it('takes no task in behind its back when it stops to hear during a load', async () => {
    const store = createArrayStore();
    const leader = instanceOf({ store });
    sendTask(leader, 'a');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isHeld = false;
    store.after = (call) => {
      if (call !== 'tasks.records' || isHeld) return undefined;
      isHeld = true;
      return held;
    };
    const follower = instanceOf({ store });
    await vi.waitFor(() => expect(isHeld).toBe(true), WAIT);
    await follower.setHearing('nothing');
    goOn();
    await vi.waitFor(() => expect(follower.status().phase).toBe('ready'), WAIT);
    runTask(leader, 'a');
    const states = () => [...store.rows('celery').tasks.values()].map(({ state }) => state);
    await vi.waitFor(() => expect(states()).toEqual(['SUCCESS']), WAIT);
    expect(follower.index.stateOf('a')).toBeNull();
    expect(await taskIn(follower, 'a')).toMatchObject({ state: 'SUCCESS' });
  });

  it('keeps what could not be written before it stopped to hear, and writes it later', async () => {
    const store = createArrayStore();
    const leader = instanceOf({ store });
    await vi.waitFor(() => expect(leader.isHolder()).toBe(true), WAIT);
    let isAway = true;
    store.before = () => {
      if (isAway) throw new Error('away');
    };
    runTask(leader, 'a');
    await leader.setHearing('nothing');
    isAway = false;
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    await vi.waitFor(() => expect(leader.index.stateOf('a')).toBeNull(), WAIT);
    expect(leader.status().lost).toBe(0);
  });

  it('knows when others saw everything, and when nobody did', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store });
    await vi.waitFor(() => expect(store.rows('celery').texts.has('history.coverage')).toBe(true), WAIT);
    await one.close();
    const { texts } = store.rows('celery');
    const [[from, to]] = JSON.parse(texts.get('history.coverage')?.text ?? '[]');
    expect(to).toBeGreaterThanOrEqual(from);
    const earlier = from - 600_000;
    texts.set('history.coverage', { text: JSON.stringify([[earlier, to]]), revision: 9 });
    const after = instanceOf({ store });
    await vi.waitFor(() => expect(after.status().phase).toBe('ready'), WAIT);
    const activity = await after.reader.getActivity(CONTEXT);
    // The clocks are compared over calls that a busy machine delays.
    expect(Math.abs(activity.since - earlier)).toBeLessThan(5_000);
  });

  it('sees what others record in their processes, where each hears a part', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store, hearing: 'part' });
    const other = instanceOf({ store, hearing: 'part' });
    await vi.waitFor(() => expect(one.hasOthers() && other.hasOthers()).toBe(true), WAIT);
    const before = other.reader.freshness('tasks').revision;
    runTask(one, 'a');
    await vi.waitFor(() => expect(other.reader.freshness('tasks').revision).not.toBe(before), WAIT);
    await vi.waitFor(async () => expect(await taskIn(other, 'a')).toMatchObject({ state: 'SUCCESS' }), WAIT);
  });

  it('takes in the workers that others wrote before it writes its own', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store, hearing: 'part' });
    await vi.waitFor(() => expect(one.status().phase).toBe('ready'), WAIT);
    // Another instance writes its workers right before each write of this one, which replaces them.
    const row = {
      hostname: 'celery@other',
      isHeard: true,
      heartbeatAt: null,
      intervalMs: 2_000,
      clockAheadMs: 0,
    };
    const { texts } = store.rows('celery');
    store.before = (call) => {
      if (call !== 'feed.append') return;
      const text = JSON.stringify([
        { ...row, heardAt: Date.now(), bornAt: null, saidGoodbye: false, facts: {} },
      ]);
      texts.set('history.workers', { text, revision: (texts.get('history.workers')?.revision ?? 0) + 1 });
    };
    runTask(one, 'a');
    await vi.waitFor(() => expect(texts.get('history.workers')?.text).toContain('celery@one'), WAIT);
    const workers = await one.reader.listWorkers(CONTEXT);
    expect(workers.map(({ hostname, status }) => [hostname, status])).toEqual([
      ['celery@one', 'online'],
      ['celery@other', 'online'],
    ]);
    expect(texts.get('history.workers')?.text).toContain('celery@other');
  });
});

describe('the holder of the lease', () => {
  it('drops old days, but no task that is open', async () => {
    const store = createArrayStore({ taskDays: 2 });
    store.now = () => Date.now() - 5 * DAY_MS;
    const before = instanceOf({ store });
    runTask(before, 'old');
    sendTask(before, 'open');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(2), WAIT);
    await before.close();
    store.now = Date.now;
    instanceOf({ store });
    await vi.waitFor(() => {
      expect([...store.rows('celery').tasks.values()]).toMatchObject([{ id: 'open', isOpen: true }]);
    }, WAIT);
  });
});

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
    // A lease of half a second may run out before it has published.
    const leader = instanceOf({ store }, {}, AT_ONCE);
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
