import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { orders, T0, tasksOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';
const sent = told({ type: 'sent', time: T0, retries: 0, name: 'lab.add', queue: 'celery' });
const received = told({ type: 'received', time: T0 + 10, worker: W1, retries: 0, name: 'lab.add' });
const started = told({ type: 'started', time: T0 + 20, worker: W1 });
const succeeded = told({ type: 'succeeded', time: T0 + 30, worker: W1, result: '4', runtime: 0.01 });
const failed = told({ type: 'failed', time: T0 + 30, worker: W1, exception: "ValueError('x')" });

interface Case {
  readonly title: string;
  readonly told: readonly TaskChange[];
  readonly state: string;
  readonly worker?: string;
}

const CASES: readonly Case[] = [
  { title: 'a task that was sent is PENDING', told: [sent], state: 'PENDING' },
  { title: 'a task runs once it started', told: [sent, received, started], state: 'STARTED', worker: W1 },
  { title: 'the end of a run stays', told: [sent, received, started, succeeded], state: 'SUCCESS' },
  {
    title: 'a retry waits for its next attempt',
    told: [sent, received, started, told({ type: 'retried', time: T0 + 30, worker: W1 })],
    state: 'RETRY',
  },
  {
    title: 'the message of the next attempt is sent before the retry is told',
    told: [
      sent,
      received,
      started,
      told({ type: 'sent', time: T0 + 25, retries: 1 }),
      told({ type: 'retried', time: T0 + 30, worker: W1 }),
    ],
    state: 'RETRY',
  },
  {
    title: 'a retry whose own message was lost shows by the next attempt',
    told: [sent, received, started, told({ type: 'sent', time: T0 + 25, retries: 1 })],
    state: 'RETRY',
  },
  {
    title: 'the next attempt decides, on another worker with a slow clock',
    told: [
      sent,
      received,
      started,
      told({ type: 'retried', time: T0 + 30, worker: W1 }),
      told({ type: 'received', time: T0 + 5, worker: W2, retries: 1 }),
      told({ type: 'succeeded', time: T0 + 8, worker: W2 }),
    ],
    state: 'SUCCESS',
    worker: W2,
  },
  {
    title: 'a finished task that is delivered again runs again',
    told: [
      sent,
      received,
      started,
      succeeded,
      told({ type: 'received', time: T0 + 100, worker: W2, retries: 0 }),
      told({ type: 'started', time: T0 + 110, worker: W2 }),
    ],
    state: 'STARTED',
    worker: W2,
  },
  {
    title: 'a custom state does not hide that the task was revoked',
    told: [
      sent,
      received,
      started,
      told({ type: 'custom', state: 'PROGRESS', time: T0 + 25 }),
      told({ type: 'revoked', time: T0 + 40, worker: W1 }),
    ],
    state: 'REVOKED',
  },
  {
    title: 'a custom state holds while the task runs, also when its clock is early',
    told: [sent, received, started, told({ type: 'custom', state: 'PROGRESS', time: T0 + 15 })],
    state: 'PROGRESS',
  },
  {
    title: 'a task that its worker dropped is REJECTED',
    told: [sent, received, started, told({ type: 'rejected', time: T0 + 30, worker: W1 })],
    state: 'REJECTED',
  },
  {
    title: 'a rejected task that was put back waits',
    told: [sent, received, started, told({ type: 'requeued', time: T0 + 30, worker: W1 })],
    state: 'PENDING',
  },
  {
    title: 'a rejected task that was put back runs again',
    told: [
      sent,
      received,
      started,
      told({ type: 'requeued', time: T0 + 30, worker: W1 }),
      told({ type: 'received', time: T0 + 40, worker: W1, retries: 0 }),
      succeeded,
      told({ type: 'succeeded', time: T0 + 60, worker: W1 }),
    ],
    state: 'SUCCESS',
  },
  {
    title: 'a task revoked before a worker took it has no run',
    told: [sent, told({ type: 'revoked', time: T0 + 10, worker: W1 })],
    state: 'REVOKED',
    worker: W1,
  },
  {
    title: 'the backend alone tells an end',
    told: [sent, told({ type: 'succeeded', time: T0 + 30, origin: 'result' })],
    state: 'SUCCESS',
  },
  {
    title: 'the backend ends a run whose own end was lost, though its clock is early',
    told: [sent, received, started, told({ type: 'succeeded', time: T0 + 15, origin: 'result' })],
    state: 'SUCCESS',
  },
  {
    title: "the backend's STARTED, which has no time, never reopens a task",
    told: [
      sent,
      received,
      started,
      succeeded,
      told({ type: 'started', time: null, origin: 'result', retries: 0 }),
      told({ type: 'succeeded', time: T0 + 29, origin: 'result', retries: 0 }),
    ],
    state: 'SUCCESS',
  },
  {
    title: 'a task that ignores its result ends by its event',
    told: [sent, received, started, succeeded, told({ type: 'started', time: null, origin: 'result' })],
    state: 'SUCCESS',
  },
  {
    title: 'revoking a running task does not end it',
    told: [
      sent,
      received,
      started,
      told({ type: 'revoked', time: T0 + 25, origin: 'result', tentative: true }),
    ],
    state: 'STARTED',
  },
  {
    title: 'revoking a waiting task ends it',
    told: [sent, received, told({ type: 'revoked', time: T0 + 25, origin: 'result', tentative: true })],
    state: 'REVOKED',
  },
  {
    title: 'a failure is not lost to a later revoke',
    told: [
      sent,
      received,
      started,
      failed,
      told({ type: 'revoked', time: T0 + 99, origin: 'result', tentative: true }),
    ],
    state: 'FAILURE',
  },
  {
    title: 'a monitor that came late knows the run by its end',
    told: [started, succeeded, told({ type: 'started', time: null, origin: 'result', retries: 2 })],
    state: 'SUCCESS',
    worker: W1,
  },
];

describe('the state of a task', () => {
  for (const { title, told: messages, state, worker } of CASES) {
    it(`${title}, in whatever order it is told`, async () => {
      const all =
        messages.length <= 6 ? orders(messages) : [messages as TaskChange[], [...messages].reverse()];
      const lists = all.flatMap((order) => [
        order,
        [...order, ...order],
        order.flatMap((message) => [message, message]),
      ]);
      const wrong = (await tasksOf(lists)).flatMap((task, at) =>
        task.state === state && (worker === undefined || task.worker === worker)
          ? []
          : [
              `${task.state} at ${task.worker}: ${lists[at]?.map(({ type, origin }) => `${origin}:${type}`).join(' ')}`,
            ],
      );
      expect(wrong).toEqual([]);
    });
  }
});
