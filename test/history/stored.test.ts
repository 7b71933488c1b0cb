import { describe, expect, it } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { CONTEXT, historyOf, idsOf, orders, page, T0, taskOf, told } from './telling.ts';

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

const feedOf = async (history: History): Promise<string[]> => {
  const query = { limit: 50, since: null, states: [], workers: [], tasks: [] };
  return (await history.reader.listEvents(query, CONTEXT)).events.map(({ type }) => type);
};
describe('a message that was read, not heard', () => {
  const end = read({ type: 'succeeded', time: T0 - 5_000, result: '4', worker: W1, name: 'lab.add' });

  it('tells the task like one that was heard', async () => {
    expect(await taskOf([end])).toMatchObject({
      state: 'SUCCESS',
      worker: W1,
      name: 'lab.add',
      result: '4',
      finished: new Date(T0 - 5_000),
    });
  });

  it('adds nothing to the feed, no lag, and counts as no event', async () => {
    const history = historyOf([end, read({ id: 'b', type: 'started', worker: W1 })]);
    expect(await feedOf(history)).toEqual([]);
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({
      tasks: 2,
      lagSeconds: null,
      eventsReceived: 0,
    });
  });

  it('does not keep what is heard of the same change later out of the feed', async () => {
    const heard = told({ type: 'succeeded', time: T0 - 5_000, worker: W1 });
    const published = { ...end, stored: false };
    for (const order of orders([heard, published])) {
      const history = historyOf([end, ...order, end, ...order]);
      expect(await feedOf(history)).toEqual(['task-succeeded']);
      expect((await history.reader.getTask('a', CONTEXT))?.timeline).toHaveLength(1);
    }
    expect(await feedOf(historyOf([published, end]))).toEqual(['task-succeeded']);
  });

  it('is dated by the moment at which it happened at the latest', async () => {
    const started = read({ type: 'started', retries: 0, heardAt: T0 - 9_000 });
    for (const order of orders([started, { ...started, heardAt: T0 - 7_000 }])) {
      expect(await taskOf(order)).toMatchObject({
        state: 'STARTED',
        started: new Date(T0 - 9_000),
        timestamp: new Date(T0 - 9_000),
      });
    }
    expect((await taskOf([{ ...started, heardAt: T0 + DAY }])).started).toEqual(new Date(T0 + 60_000));
  });

  it('does not claim that a task started when it was read', async () => {
    const task = await taskOf([read({ type: 'started', retries: 0 })]);
    expect(task).toMatchObject({ state: 'STARTED', started: null, timestamp: new Date(T0 + 60_000) });
    expect(task.timeline).toMatchObject([{ state: 'STARTED', timestamp: null }]);
    const { history, wait } = clocked();
    history.writer.recordTask(read({ type: 'started', retries: 0 }));
    wait(70);
    history.writer.recordTask(read({ type: 'started', retries: 0, stored: false }));
    expect((await page(history)).tasks[0]).toMatchObject({ started: new Date(T0 + 70) });
  });

  it('says of a task in its queue that it waits, not since when', async () => {
    const { history, wait } = clocked();
    for (const origin of ['event', 'result'] as const) {
      for (let time = 0; time < 3; time++) {
        wait(1_000);
        history.writer.recordTask(
          read({ id: origin, type: 'sent', origin, retries: 0, queue: 'mail', heardAt: T0 + time }),
        );
      }
    }
    for (const task of (await page(history)).tasks) {
      expect(task).toMatchObject({ state: 'PENDING', sent: null, timestamp: null, queue: 'mail' });
      const detail = await history.reader.getTask(task.id, CONTEXT);
      expect(detail?.timeline).toMatchObject([{ state: 'PENDING', timestamp: null, worker: null }]);
    }
  });

  it('gives way to what the sender tells of the same message', async () => {
    const found = read({ type: 'sent', retries: 0, name: 'lab.add', args: '(1,)', rootId: 'x' });
    const sent = told({ type: 'sent', retries: 0, name: 'lab.real', args: '(2,)', rootId: 'r', time: T0 });
    const received = told({
      type: 'received',
      time: T0 + 4,
      retries: 0,
      worker: W1,
      name: 'shadow',
      args: '(2,)',
    });
    for (const order of orders([found, sent, received, found])) {
      const task = await taskOf(order);
      expect(task).toMatchObject({
        state: 'RECEIVED',
        sent: new Date(T0),
        name: 'lab.real',
        args: '(2,)',
        rootId: 'r',
      });
      expect(task.timeline?.map(({ state }) => state)).toEqual(['PENDING', 'RECEIVED']);
    }
  });

  it('shows a retry that waits in its queue, at the time of its last change', async () => {
    const ran = [told({ type: 'received', retries: 0, worker: W1 }), told({ type: 'started', time: T0 + 1 })];
    expect(await taskOf([...ran, read({ type: 'sent', retries: 1 })])).toMatchObject({
      state: 'RETRY',
      timestamp: new Date(T0 + 1),
    });
  });

  it('shows a retry that waits at the time at which its sender sent it, if that is told', async () => {
    const ran = [told({ type: 'received', retries: 0, worker: W1 }), told({ type: 'started', time: T0 + 1 })];
    const again = [
      read({ type: 'sent', retries: 1 }),
      told({ type: 'sent', retries: 1, time: T0 + 8 }),
      ...ran,
    ];
    for (const order of orders(again)) {
      expect(await taskOf(order)).toMatchObject({ state: 'RETRY', timestamp: new Date(T0 + 8) });
    }
  });

  it('says of an end without a time that it has come, not when', async () => {
    const end = read({ type: 'revoked', retries: 0 });
    expect(await taskOf([end])).toMatchObject({ state: 'REVOKED', finished: null });
    expect((await taskOf([{ ...end, heardAt: T0 - 5 }])).finished).toEqual(new Date(T0 - 5));
  });

  it('is not kept when it is older than anything that is kept', async () => {
    const { history } = clocked({ taskDays: 1 });
    history.writer.recordTask(read({ id: 'old', type: 'succeeded', time: T0 - DAY - 1 }));
    history.writer.recordTask(read({ id: 'stale', type: 'started', heardAt: T0 - DAY - 1 }));
    history.writer.recordTask(read({ id: 'new', type: 'succeeded', time: T0 - DAY }));
    history.writer.recordTask(told({ id: 'heard', type: 'succeeded', time: T0 - 9 * DAY }));
    expect(idsOf((await page(history)).tasks)).toEqual(['new', 'heard']);
  });

  it('changes no revision when it tells the same again', () => {
    const started = read({ id: 'b', type: 'started', retries: 0, worker: W1 });
    const history = historyOf([end, started]);
    const before = history.reader.freshness('tasks').revision;
    history.writer.recordTask(end);
    history.writer.recordTask(started);
    expect(history.reader.freshness('tasks').revision).toBe(before);
  });
});

describe('a task that was retried before anybody listened', () => {
  const retried = read({ type: 'retried', heardAt: T0 - 5_000 });
  const started = told({ type: 'started', time: T0, worker: W1 });
  const published = told({ type: 'started', time: null, origin: 'result', worker: W1 });
  const succeeded = told({ type: 'succeeded', time: T0 + 50, worker: W1, runtime: 0.05 });

  /** Any order in which the backend's messages keep theirs. */
  const ordersOf = (changes: readonly TaskChange[]) =>
    orders(changes).filter((order) => {
      const results = order.filter(({ origin }) => origin === 'result');
      return results.every(({ type }, at) => (type === 'retried') === (at === 0));
    });

  it('runs once its worker says so, though no message numbers its attempts', async () => {
    expect(await taskOf([retried])).toMatchObject({ state: 'RETRY', retries: null });
    for (const order of ordersOf([retried, started, published])) {
      expect(await taskOf(order)).toMatchObject({ state: 'STARTED', started: new Date(T0), retries: null });
    }
    for (const order of ordersOf([retried, started, published, succeeded])) {
      const task = await taskOf(order);
      expect(task.state).toBe('SUCCESS');
      expect(task.timeline?.map(({ state }) => state)).toEqual(['RETRY', 'STARTED', 'SUCCESS']);
    }
  });

  it('has no eta from a message in its queue that does not say which attempt it is', async () => {
    for (const order of orders([retried, read({ type: 'sent', eta: T0 + DAY, queue: 'mail' })])) {
      const task = await taskOf(order);
      expect(task).toMatchObject({ state: 'RETRY', queue: 'mail', eta: null, sent: null });
      expect(task.timeline?.map(({ state }) => state)).toEqual(['PENDING', 'RETRY']);
    }
  });

  it('has the eta and the time of the message that was stored after its retry', async () => {
    const task = await taskOf([retried, read({ type: 'sent', time: T0, eta: T0 + DAY })]);
    expect(task).toMatchObject({ state: 'RETRY', eta: new Date(T0 + DAY), timestamp: new Date(T0) });
    expect(task.timeline?.map(({ state }) => state)).toEqual(['RETRY', 'PENDING']);
  });

  it('waits for the attempt that a worker has received, and has its number', async () => {
    for (const numbered of [retried, { ...retried, retries: 2 }]) {
      const received = told({ type: 'received', time: T0 - 10, worker: W1, retries: 3 });
      for (const order of ordersOf([numbered, received])) {
        expect(await taskOf(order)).toMatchObject({
          state: 'RETRY',
          retries: 3,
          received: new Date(T0 - 10),
        });
      }
      for (const order of ordersOf([numbered, received, started, published])) {
        const task = await taskOf(order);
        expect(task).toMatchObject({ state: 'STARTED', retries: 3 });
        expect(task.timeline?.map(({ state }) => state)).toEqual(['RETRY', 'RECEIVED', 'STARTED']);
      }
    }
  });
});

/** The result backend has a retry before the worker has reported all that led to it. */

describe('a task whose retry its child process stores before its worker reports the start', () => {
  const received = told({ type: 'received', retries: 0, worker: W1 });
  const stored = told({ type: 'retried', time: null, heardAt: T0 + 20, origin: 'result' });
  const started = told({ type: 'started', time: T0 + 30, worker: W1 });
  const again = told({ type: 'received', time: T0 + 35, retries: 1, worker: W1, eta: T0 + 30_000 });
  const retried = told({ type: 'retried', time: T0 + 40, worker: W1 });
  const stepsOf = ({ timeline = [] }: { timeline?: TaskDetail['timeline'] }) =>
    timeline.map(({ state, retries }) => `${state}(${retries})`);

  it.each([{ retries: 0 }, {}])('waits for its retry in any order of arrival: %j', async (numbers) => {
    const ended = [received, { ...stored, ...numbers }, started];
    for (const order of orders(ended)) {
      const task = await taskOf(order);
      expect(task).toMatchObject({ state: 'RETRY', retries: 0, started: new Date(T0 + 30), worker: W1 });
      expect(stepsOf(task)).toEqual(['RECEIVED(0)', 'STARTED(0)', 'RETRY(0)']);
    }
    for (const messages of [
      [...ended, again],
      [...ended, again, retried],
    ]) {
      for (const order of orders(messages)) {
        const task = await taskOf(order);
        expect(task).toMatchObject({ state: 'RETRY', retries: 1, started: null, worker: W1 });
        expect(stepsOf(task)).toEqual(['RECEIVED(0)', 'STARTED(0)', 'RETRY(0)', 'RECEIVED(1)']);
      }
    }
  });

  it('runs again when it starts later, or once the worker has received the next attempt', async () => {
    const later = { ...started, time: T0 + 5_000 };
    for (const order of orders([received, stored, later]))
      expect(await taskOf(order)).toMatchObject({ state: 'STARTED', started: new Date(T0 + 5_000) });
    const soon = { ...again, time: T0 + 25 };
    for (const order of orders([received, stored, soon, started]))
      expect(await taskOf(order)).toMatchObject({
        state: 'STARTED',
        started: new Date(T0 + 30),
        retries: 1,
      });
  });
});
