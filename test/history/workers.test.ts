import { describe, expect, it } from 'vitest';
import type { History, WorkerChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Worker } from '../../src/model.ts';
import { CONTEXT, page, T0, told } from './telling.ts';

const W1 = 'w1@alpha';

/** A history whose clock the test moves. */
function clocked(): {
  history: History;
  wait(ms: number): void;
  say(change: Partial<WorkerChange>): void;
} {
  let now = T0;
  const history = createMemoryHistory({ now: () => now });
  return {
    history,
    wait: (ms) => {
      now += ms;
    },
    say: (change) =>
      history.writer.recordWorker({
        hostname: W1,
        type: 'heartbeat',
        time: now,
        interval: 2,
        pid: 7,
        ...change,
      }),
  };
}

const statusOf = async (history: History): Promise<string[]> =>
  ((await history.reader.listWorkers(CONTEXT)) as Worker[]).map(({ status }) => status);

describe('workers', () => {
  it('are online within two heartbeats and two seconds, stale for a minute, then offline', async () => {
    const { history, wait, say } = clocked();
    say({});
    wait(6_000);
    expect(await statusOf(history)).toEqual(['online']);
    wait(1);
    expect(await statusOf(history)).toEqual(['stale']);
    wait(54_000 - 1);
    expect(await statusOf(history)).toEqual(['stale']);
    wait(1);
    expect(await statusOf(history)).toEqual(['offline']);
    wait(24 * 3_600_000);
    expect(await statusOf(history)).toEqual([]);
  });

  it('tell when the clock alone will change an answer', async () => {
    const { history, wait, say } = clocked();
    expect(history.reader.freshness('workers').changesAt).toBeNull();
    say({});
    expect(history.reader.freshness('workers').changesAt).toEqual(new Date(T0 + 6_001));
    wait(6_001);
    expect(history.reader.freshness('workers').changesAt).toEqual(new Date(T0 + 60_001));
    wait(60_000);
    expect(history.reader.freshness('workers').changesAt).toEqual(new Date(T0 + 24 * 3_600_000 + 1));
    wait(24 * 3_600_000);
    expect(await statusOf(history)).toEqual([]);
    expect(history.reader.freshness('workers').changesAt).toBeNull();
    expect(history.reader.freshness('events').changesAt).toBeNull();
  });

  it('are offline at once when they say goodbye, and online again when they come back', async () => {
    const { history, wait, say } = clocked();
    say({ type: 'online' });
    wait(10);
    say({ type: 'offline' });
    expect(await statusOf(history)).toEqual(['offline']);
    wait(10);
    say({ type: 'online' });
    expect(await statusOf(history)).toEqual(['online']);
    const { events } = await history.reader.listEvents(
      { limit: 10, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
    expect(events.map(({ type, worker, task }) => [type, worker, task])).toEqual([
      ['worker-online', W1, null],
      ['worker-offline', W1, null],
      ['worker-online', W1, null],
    ]);
  });

  it('do not come or go by a message that is delivered twice or late', async () => {
    const { history, wait, say } = clocked();
    const online = { type: 'online', time: T0 } as const;
    say(online);
    say(online);
    wait(1_000);
    say({ time: T0 + 1_000 });
    say(online);
    say({ type: 'offline', time: T0 - 5 });
    expect(await statusOf(history)).toEqual(['online']);
    const { events } = await history.reader.listEvents(
      { limit: 10, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
    expect(events).toHaveLength(1);
  });

  it('keep what an earlier heartbeat told when a forced one leaves it out', async () => {
    const { history, wait, say } = clocked();
    say({ active: 3, processed: 40, loadAverage: [1, 2, 3], software: 'py-celery 5.6.3' });
    wait(100);
    say({});
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([
      { active: 3, processed: 40, loadAverage: [1, 2, 3], software: 'py-celery 5.6.3', pid: 7 },
    ]);
    wait(100);
    say({ pid: 8 });
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([
      { active: null, processed: null, pid: 8 },
    ]);
  });

  it('are known by the tasks they run, also without heartbeats', async () => {
    const { history } = clocked();
    history.writer.recordTask(told({ type: 'started', worker: W1 }));
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([
      { hostname: W1, status: 'online', lastHeartbeat: null, pid: null },
    ]);
  });

  it('show at once that a task of theirs was heard of', async () => {
    const { history, wait, say } = clocked();
    const before = history.reader.freshness('workers').revision;
    history.writer.recordTask(told({ type: 'started', worker: W1 }));
    const known = history.reader.freshness('workers').revision;
    expect(known).toBeGreaterThan(before);
    say({});
    wait(30_000);
    expect(await statusOf(history)).toEqual(['stale']);
    const silent = history.reader.freshness('workers').revision;
    history.writer.recordTask(told({ type: 'succeeded', worker: W1, time: T0 + 30_000 }));
    expect(history.reader.freshness('workers').revision).toBeGreaterThan(silent);
    expect(await statusOf(history)).toEqual(['online']);
  });

  it('are missing when they are silent without a goodbye, for five minutes', () => {
    const { history, wait, say } = clocked();
    say({});
    expect(history.index.checkWorkers()).toEqual({ responding: [W1], missing: [] });
    wait(10_000);
    expect(history.index.checkWorkers()).toEqual({ responding: [], missing: [W1] });
    wait(300_000);
    expect(history.index.checkWorkers()).toEqual({ responding: [], missing: [] });
  });

  it('keep their status while the source is cut off', async () => {
    const { history, wait, say } = clocked();
    say({});
    history.writer.freezeAt(new Date(T0 + 1_000));
    wait(600_000);
    expect(await statusOf(history)).toEqual(['online']);
    expect(history.reader.freshness('workers').changesAt).toBeNull();
    history.writer.freezeAt(null);
    expect(await statusOf(history)).toEqual(['online']);
    wait(5_001);
    expect(await statusOf(history)).toEqual(['stale']);
  });

  it('are bounded in number: the one silent for longest is forgotten', async () => {
    let now = T0;
    const history = createMemoryHistory({ now: () => now, maxWorkers: 3 });
    for (const name of ['a', 'b', 'c', 'a', 'd']) {
      now += 10;
      history.writer.recordWorker({ hostname: `${name}@h`, type: 'heartbeat', time: now });
    }
    const workers = (await history.reader.listWorkers(CONTEXT)) as Worker[];
    expect(workers.map(({ hostname }) => hostname)).toEqual(['a@h', 'c@h', 'd@h']);
  });
});

describe('flags', () => {
  const started = told({ type: 'started', worker: W1, time: T0 + 1 });

  it('say that the worker of a running task is gone', async () => {
    const { history, wait, say } = clocked();
    say({});
    history.writer.recordTask(started);
    expect((await page(history)).tasks[0]?.flags).toEqual([]);
    const before = history.reader.freshness('tasks').revision;
    expect(history.reader.freshness('tasks').changesAt?.getTime()).toBeLessThanOrEqual(T0 + 6_001);
    wait(60_001);
    expect((await page(history)).tasks[0]?.flags).toEqual(['worker_lost']);
    say({ time: T0 + 60_001 });
    expect((await page(history)).tasks[0]?.flags).toEqual([]);
    // A heartbeat alone brings the worker back, and an answer that was kept is no longer right.
    expect(history.reader.freshness('tasks').revision).toBeGreaterThan(before);
  });

  it('say that a worker which was started anew has lost its tasks', async () => {
    const { history, wait, say } = clocked();
    say({ type: 'online' });
    history.writer.recordTask(told({ type: 'received', worker: W1, time: T0 + 1, retries: 0 }));
    history.writer.recordTask(told({ type: 'started', worker: W1, time: T0 + 2 }));
    const before = history.reader.freshness('tasks').revision;
    wait(3_000);
    say({ type: 'online', pid: 8, time: T0 + 3_000 });
    expect((await page(history)).tasks[0]?.flags).toEqual(['worker_lost']);
    expect(history.reader.freshness('tasks').revision).toBeGreaterThan(before);
  });

  it('say nothing of a task that has ended', async () => {
    const { history, wait, say } = clocked();
    say({});
    history.writer.recordTask(started);
    history.writer.recordTask(told({ type: 'succeeded', worker: W1, time: T0 + 5 }));
    wait(120_000);
    expect((await page(history)).tasks[0]?.flags).toEqual([]);
  });

  it('say that a task should have started by its eta, from that moment on', async () => {
    const { history, wait } = clocked();
    history.writer.recordTask(told({ type: 'received', worker: null, retries: 0, eta: T0 + 5_000 }));
    expect((await page(history)).tasks[0]?.flags).toEqual([]);
    expect(history.reader.freshness('tasks').changesAt).toEqual(new Date(T0 + 5_000));
    wait(5_000);
    expect((await page(history)).tasks[0]?.flags).toEqual(['overdue']);
    history.writer.recordTask(told({ type: 'started', time: T0 + 5_100 }));
    expect((await page(history)).tasks[0]?.flags).toEqual([]);
    expect(history.reader.freshness('tasks').changesAt).toBeNull();
  });
});
