import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { orders, T0, taskOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';
const sent = told({ type: 'sent', time: T0, retries: 0, name: 'lab.add', queue: 'celery' });
const received = told({ type: 'received', time: T0 + 10, worker: W1, retries: 0, name: 'lab.add' });
const started = told({ type: 'started', time: T0 + 20, worker: W1 });
const succeeded = told({ type: 'succeeded', time: T0 + 30, worker: W1, result: '4', runtime: 0.01 });

describe('what is told of a task', () => {
  it('keeps times of the last run', async () => {
    const task = await taskOf([
      sent,
      received,
      started,
      told({ type: 'retried', time: T0 + 30, worker: W1, exception: 'RuntimeError()' }),
      told({ type: 'received', time: T0 + 40, worker: W2, retries: 1 }),
      told({ type: 'started', time: T0 + 50, worker: W2 }),
      told({ type: 'succeeded', time: T0 + 60, worker: W2, result: '1', runtime: 0.01 }),
    ]);
    expect(task).toMatchObject({
      sent: new Date(T0),
      received: new Date(T0 + 40),
      started: new Date(T0 + 50),
      finished: new Date(T0 + 60),
      timestamp: new Date(T0 + 60),
      retries: 1,
      runtime: 0.01,
      exception: null,
    });
    expect(task.timeline?.map(({ state, detail }) => [state, detail])).toEqual([
      ['PENDING', null],
      ['RECEIVED', null],
      ['STARTED', null],
      ['RETRY', 'RuntimeError()'],
      ['RECEIVED', null],
      ['STARTED', null],
      ['SUCCESS', null],
    ]);
  });

  it('knows the queue, which only the sender tells, also when the worker was faster', async () => {
    const late = told({ type: 'sent', time: T0 - 5, retries: 0, queue: 'mail' });
    const fast = told({ type: 'received', time: T0 - 9, worker: W1, retries: 0 });
    for (const order of orders([late, fast, started])) expect((await taskOf(order)).queue).toBe('mail');
  });

  it('counts attempts by the backend alone once, also when it tells each twice', async () => {
    const of = (type: TaskChange['type'], time: number | null = null) =>
      told({ type, time, origin: 'result' });
    const stream = [of('started'), of('retried'), of('started'), of('retried'), of('started')];
    const ends = [...stream, of('succeeded', T0 + 50)];
    const running = await taskOf(stream.flatMap((one) => [one, one]));
    const ended = await taskOf([...ends, ...ends]);
    const statesOf = ({ timeline }: TaskDetail) => timeline?.map(({ state }) => state);
    const attempts = ['STARTED', 'RETRY', 'STARTED', 'RETRY', 'STARTED'];
    // Earlier attempts may have been missed, so the number of the attempt is not known.
    expect(running).toMatchObject({ state: 'STARTED', retries: null });
    expect(statesOf(running)).toEqual(attempts);
    expect(ended).toMatchObject({ state: 'SUCCESS', retries: null });
    expect(statesOf(ended)).toEqual([...attempts, 'SUCCESS']);
  });

  it("prefers the sender's name to the shadow name that a worker shows", async () => {
    const shadowed = told({ type: 'received', time: T0 + 10, worker: W1, name: 'pretty.name' });
    for (const order of orders([sent, shadowed])) expect((await taskOf(order)).name).toBe('lab.add');
  });

  it('takes the new name of a task that was replaced', async () => {
    const again = told({ type: 'sent', time: T0 + 25, name: 'lab.other', retries: 0 });
    for (const order of orders([sent, received, started, again])) {
      expect((await taskOf(order)).name).toBe('lab.other');
    }
  });

  it('keeps the parent it was first sent with, and never its own id', async () => {
    const first = { ...sent, parentId: 'p', rootId: 'r' };
    const retry = told({ type: 'sent', time: T0 + 25, retries: 1, parentId: 'a', rootId: 'r' });
    for (const order of orders([first, started, retry])) {
      expect(await taskOf(order)).toMatchObject({ parentId: 'p', rootId: 'r' });
    }
    expect((await taskOf([{ ...sent, parentId: 'a', rootId: 'a' }])).parentId).toBeNull();
  });

  it('is listed once if both the worker and the backend report it', async () => {
    const result = told({ type: 'succeeded', time: T0 + 29, origin: 'result', result: '4' });
    for (const order of orders([sent, received, started, succeeded, result])) {
      const { timeline, finished } = await taskOf(order);
      expect(timeline?.map(({ state }) => state)).toEqual(['PENDING', 'RECEIVED', 'STARTED', 'SUCCESS']);
      expect(finished).toEqual(new Date(T0 + 30));
    }
  });

  it('takes the whole result of the backend where the event had cut it', async () => {
    const cut = { ...succeeded, result: "'aaa...", truncated: ['result'] as const };
    const whole = told({ type: 'succeeded', time: T0 + 29, origin: 'result', result: "'aaaaaa'" });
    for (const order of orders([received, cut, whole])) {
      expect(await taskOf(order)).toMatchObject({ result: "'aaaaaa'", truncated: [] });
    }
    expect(await taskOf([received, cut])).toMatchObject({ result: "'aaa...", truncated: ['result'] });
  });

  it('shows the exception that ended it, not that of an earlier attempt', async () => {
    const retried = told({ type: 'retried', time: T0 + 15, worker: W1, exception: 'first' });
    const end = told({ type: 'failed', time: T0 + 30, origin: 'result', exception: 'last', retries: 1 });
    for (const order of orders([received, retried, end]))
      expect((await taskOf(order)).exception).toBe('last');
  });

  it('keeps a bounded timeline of a task that is retried without end', async () => {
    const messages = Array.from({ length: 500 }, (_, n) => [
      told({ type: 'received', time: T0 + n * 10, worker: W1, retries: n }),
      told({ type: 'retried', time: T0 + n * 10 + 5, worker: W1 }),
    ]).flat();
    const task = await taskOf([sent, ...messages]);
    expect(task.retries).toBe(499);
    expect(task.state).toBe('RETRY');
    expect(task.timeline?.length).toBeLessThanOrEqual(64);
  });
});
