import { describe, expect, it } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { Worker } from '../../src/model.ts';
import { CONTEXT, historyOf, page, T0, told } from './telling.ts';

const W1 = 'w1@alpha';
const DAY = 24 * 3_600_000;

/** A message read from the backend, or from a queue. */
const read = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>): TaskChange =>
  told({ origin: 'result', time: null, stored: true, ...change });

/** A history whose clock the test moves. */
function clocked(options: MemoryHistoryOptions = {}) {
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
    const { history, wait } = clocked();
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
    const { history, wait } = clocked();
    history.writer.recordTask(started);
    wait(2 * DAY);
    expect(await workersOf(history)).toEqual([]);
    expect(await flagsOf(history)).toEqual(['worker_lost']);
  });

  it('neither responds nor is missed', () => {
    const { history, wait } = clocked();
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
      const { history, wait } = clocked();
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
    const { history, wait } = clocked({ maxWorkers: 2 });
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
    const { history, wait } = clocked();
    history.writer.recordTask(started);
    wait(2_000);
    history.writer.recordWorker({ hostname: W1, type: 'online', time: T0 + 2_000, pid: 9, processed: 0 });
    expect(await flagsOf(history)).toEqual(['worker_lost']);
  });

  it('has the time in which nobody could be heard excused', async () => {
    const { history, wait } = clocked();
    history.writer.freezeAt(new Date(T0));
    wait(300_000);
    history.writer.recordTask(started);
    history.writer.freezeAt(null);
    expect(await flagsOf(history)).toEqual([]);
    wait(59_000);
    expect(await flagsOf(history)).toEqual([]);
  });
});
