import { describe, expect, it } from 'vitest';
import type { History, TaskChange, WorkerChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { Worker } from '../../src/model.ts';
import { CONTEXT, historyOf, page, T0, told } from './telling.ts';

const W1 = 'w1@alpha';

function clocked() {
  let now = T0;
  const history = createMemoryHistory({ now: () => now });
  const say = (change: Partial<WorkerChange>) =>
    history.writer.recordWorker({ hostname: W1, type: 'reply', time: now, ...change });
  return {
    history,
    say,
    wait: (ms: number) => {
      now += ms;
    },
    worker: async (): Promise<Worker | undefined> =>
      ((await history.reader.listWorkers(CONTEXT)) as Worker[])[0],
    flags: async () => (await page(history)).tasks[0]?.flags,
  };
}

describe('a reply of a worker', () => {
  it('is a sign of life without being a heartbeat, and no news', async () => {
    const { history, say, wait, worker } = clocked();
    say({ type: 'heartbeat', interval: 2, time: T0 - 3 });
    wait(30_000);
    const before = history.reader.freshness('events').revision;
    say({});
    expect(await worker()).toMatchObject({ status: 'online', lastHeartbeat: new Date(T0 - 3) });
    say({ hostname: 'w2@beta' });
    expect((await history.reader.listWorkers(CONTEXT)).map(({ hostname }) => hostname)).toEqual([
      W1,
      'w2@beta',
    ]);
    expect(history.reader.freshness('events').revision).toBe(before);
    expect(history.index.checkWorkers().responding).toEqual([W1, 'w2@beta']);
  });

  it('tells facts, and erases none by leaving them out or saying null', async () => {
    const { say, worker } = clocked();
    say({ pool: 'prefork', concurrency: 4, queues: ['celery'], registeredTasks: ['lab.add'], pid: 7 });
    say({ type: 'heartbeat', active: 2, pid: 7 });
    say({ pool: null, queues: null, pid: null, concurrency: 8 });
    expect(await worker()).toMatchObject({
      pool: 'prefork',
      concurrency: 8,
      queues: ['celery'],
      registeredTasks: ['lab.add'],
      active: 2,
      pid: 7,
    });
  });

  it('does not make a process younger by the time in which nothing could arrive', async () => {
    const { history, say, wait, flags } = clocked();
    say({ type: 'heartbeat', pid: 7 });
    wait(5_000);
    history.writer.recordTask(told({ type: 'received', worker: W1, time: T0 + 5_000 }));
    history.writer.freezeAt(new Date(T0 + 6_000));
    wait(30_000);
    // The first messages arrive before the connection counts as up.
    say({ type: 'heartbeat', pid: 7 });
    history.writer.freezeAt(null);
    say({ pid: 7, uptimeSeconds: 40 });
    expect(await flags()).toEqual([]);
  });

  it('shows the uptime as it was told, in whole seconds', async () => {
    const { say, wait, worker } = clocked();
    say({ uptimeSeconds: 59.8 });
    wait(5_000);
    expect((await worker())?.uptimeSeconds).toBe(59);
  });

  it('is not taken for old, though clocks of workers may be ahead', async () => {
    const { say, wait, worker } = clocked();
    say({ type: 'heartbeat', time: T0 + 3_600_000 });
    wait(20_000);
    say({ concurrency: 2 });
    expect(await worker()).toMatchObject({ status: 'online', concurrency: 2 });
  });

  it('that comes behind the goodbye does not bring the worker back, a later one does', async () => {
    const { say, wait, worker } = clocked();
    say({ type: 'offline' });
    wait(500);
    say({});
    expect((await worker())?.status).toBe('offline');
    wait(5_000);
    say({});
    expect((await worker())?.status).toBe('online');
  });

  it('says since when the worker is there: what it ran before is lost', async () => {
    const { history, say, wait, flags } = clocked();
    history.writer.recordTask(
      told({ type: 'started', origin: 'result', time: null, stored: true, worker: W1, heardAt: T0 - 30_000 }),
    );
    say({ type: 'heartbeat', pid: 9 });
    expect(await flags()).toEqual([]);
    say({ pid: 9, uptimeSeconds: 3_600 });
    expect(await flags()).toEqual([]);
    const before = history.reader.freshness('tasks').revision;
    say({ pid: 10, uptimeSeconds: 20 });
    expect(await flags()).toEqual(['worker_lost']);
    expect(history.reader.freshness('tasks').revision).toBeGreaterThan(before);
    wait(10_000);
    const settled = history.reader.freshness('tasks').revision;
    say({ pid: 10, uptimeSeconds: 31 });
    say({ pid: 10, uptimeSeconds: 30 });
    // It fell silent and came back in between.
    expect(history.reader.freshness('tasks').revision).toBe(settled + 1);
  });

  it('takes no task away from a worker whose clock is behind ours, or that answers late', async () => {
    const { history, say, wait, flags } = clocked();
    // Born at T0 by our clock, when its own says a minute less.
    say({ type: 'online', time: T0 - 60_000 });
    history.writer.recordTask(told({ type: 'started', worker: W1, time: T0 - 59_000 }));
    wait(30_000);
    say({ uptimeSeconds: 30 });
    expect(await flags()).toEqual([]);
    // Asked 20 s ago, when it was 10 s old.
    say({ uptimeSeconds: 10, time: T0 + 10_000 });
    expect(await flags()).toEqual([]);
  });

  it('of a new process whose beginning is not known takes no task away from it', async () => {
    const { history, say, wait, flags } = clocked();
    say({ type: 'heartbeat', pid: 7 });
    history.writer.recordTask(told({ type: 'started', worker: W1, time: T0 + 4_000 }));
    wait(5_000);
    say({ pid: 8 });
    expect(await flags()).toEqual([]);
  });
});

describe('a worker that was listed no more', () => {
  it('is listed again by its next task', async () => {
    const { history, wait, worker } = clocked();
    history.writer.recordTask(told({ type: 'started', worker: W1 }));
    wait(25 * 3_600_000);
    expect(await worker()).toBeUndefined();
    history.writer.recordTask(told({ id: 'b', type: 'started', worker: W1, time: T0 + 1 }));
    expect((await worker())?.status).toBe('online');
  });
});

const DAY = 24 * 3_600_000;

/** A message read from the backend, or from a queue. */
const read = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>): TaskChange =>
  told({ origin: 'result', time: null, stored: true, ...change });

/** A history whose clock the test moves. */
function heardWorker(options: MemoryHistoryOptions = {}) {
  let now = T0;
  const history = createMemoryHistory({ now: () => now, ...options });
  return {
    history,
    wait: (ms: number) => {
      now += ms;
    },
  };
}

const workersOf = async (history: History): Promise<string[]> =>
  ((await history.reader.listWorkers(CONTEXT)) as Worker[]).map(
    ({ hostname, status }) => `${hostname} ${status}`,
  );
const flagsOf = async (history: History) => (await page(history)).tasks[0]?.flags;

describe('the worker of a task that was read', () => {
  const started = read({ type: 'started', retries: 0, worker: W1, heardAt: T0 - 60_000 });

  it('has a minute to be heard before its tasks count as lost', async () => {
    const { history, wait } = heardWorker();
    history.writer.recordTask(started);
    expect(await workersOf(history)).toEqual([`${W1} stale`]);
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([{ lastHeartbeat: null }]);
    expect(await flagsOf(history)).toEqual([]);
    expect(history.reader.freshness('tasks').changesAt).toEqual(new Date(T0 + 60_001));
    wait(60_000);
    expect(await flagsOf(history)).toEqual([]);
    wait(1);
    history.writer.recordTask(started);
    expect(await workersOf(history)).toEqual([`${W1} offline`]);
    expect(await flagsOf(history)).toEqual(['worker_lost']);
  });

  it('stays lost when it is listed no more', async () => {
    const { history, wait } = heardWorker();
    history.writer.recordTask(started);
    wait(2 * DAY);
    expect(await workersOf(history)).toEqual([]);
    expect(await flagsOf(history)).toEqual(['worker_lost']);
  });

  it('neither responds nor is missed', () => {
    const { history, wait } = heardWorker();
    history.writer.recordTask(started);
    expect(history.index.checkWorkers()).toEqual({ responding: [], missing: [] });
    wait(30_000);
    expect(history.index.checkWorkers()).toEqual({ responding: [], missing: [] });
  });

  it('is online as soon as it is heard, and its tasks are not lost', async () => {
    for (const hear of [
      (history: History) => history.writer.recordWorker({ hostname: W1, type: 'heartbeat', time: T0 }),
      (history: History) => history.writer.recordTask(told({ id: 'b', type: 'sent', worker: W1 })),
    ]) {
      const { history, wait } = heardWorker();
      history.writer.recordTask(started);
      wait(90_000);
      expect(await flagsOf(history)).toEqual(['worker_lost']);
      const before = history.reader.freshness('tasks').revision;
      hear(history);
      expect(history.reader.freshness('tasks').revision).toBeGreaterThan(before);
      expect(await workersOf(history)).toEqual([`${W1} online`]);
      expect((await history.reader.getTask('a', CONTEXT))?.flags).toEqual([]);
    }
  });

  it('is not made known by a task that has ended: it may have gone long ago', async () => {
    const history = historyOf([read({ type: 'succeeded', time: T0 - DAY, worker: 'gone@pod' })]);
    expect(await workersOf(history)).toEqual([]);
  });

  it('does not push out a worker that was heard', async () => {
    const { history, wait } = heardWorker({ maxWorkers: 2 });
    history.writer.recordWorker({ hostname: 'a@h', type: 'heartbeat', time: T0 });
    wait(100);
    history.writer.recordTask(read({ id: 'x', type: 'started', worker: 'x@h' }));
    history.writer.recordTask(read({ id: 'y', type: 'started', worker: 'y@h' }));
    expect(await workersOf(history)).toEqual(['a@h online', 'x@h stale']);
    history.writer.recordWorker({ hostname: 'b@h', type: 'heartbeat', time: T0 });
    expect(await workersOf(history)).toEqual(['a@h online', 'b@h online']);
    wait(DAY * 3);
    // It was never listed, so nothing can be said of it.
    expect((await history.reader.getTask('y', CONTEXT))?.flags).toEqual([]);
  });

  it('has lost its tasks when it comes online anew without having run any', async () => {
    const { history, wait } = heardWorker();
    history.writer.recordTask(started);
    wait(2_000);
    history.writer.recordWorker({ hostname: W1, type: 'online', time: T0 + 2_000, pid: 9, processed: 0 });
    expect(await flagsOf(history)).toEqual(['worker_lost']);
  });

  it('has the time in which nobody could be heard excused', async () => {
    const { history, wait } = heardWorker();
    history.writer.freezeAt(new Date(T0));
    wait(300_000);
    history.writer.recordTask(started);
    history.writer.freezeAt(null);
    expect(await flagsOf(history)).toEqual([]);
    wait(59_000);
    expect(await flagsOf(history)).toEqual([]);
  });
});
