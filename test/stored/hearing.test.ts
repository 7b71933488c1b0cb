import { describe, expect, it, vi } from 'vitest';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT } from '../history/telling.ts';
import { instanceOf, runTask, sendTask, taskIn } from './instances.ts';

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
    expect(leader.index.stateOf('a')).toBeNull();
    isAway = false;
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    expect(leader.status().lost).toBe(0);
  });

  it('reads what others wrote while it heard nothing, after a gap', async () => {
    const store = createArrayStore();
    const one = instanceOf({ store });
    sendTask(one, 'a');
    await vi.waitFor(() => expect(one.status().phase).toBe('ready'), WAIT);
    const other = instanceOf({ store, hearing: 'part' });
    runTask(other, 'b');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(2), WAIT);
    expect(one.index.stateOf('b')).toBeNull();
    one.writer.recordGap();
    await vi.waitFor(() => expect(one.index.stateOf('b')).toBe('SUCCESS'), WAIT);
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
