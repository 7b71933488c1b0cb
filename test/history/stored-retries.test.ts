/** The result backend has a retry before the worker has reported all that led to it. */
import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { orders, T0, taskOf, told } from './telling.ts';

const W1 = 'w1@alpha';

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
