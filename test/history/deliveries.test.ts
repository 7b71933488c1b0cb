/** An attempt whose message was delivered more than once: which of its runs is shown, and when it was sent. */
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { orders, T0, tasksOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';

/** A message so many milliseconds after the first one. */
const at = (ms: number, type: TaskChange['type'], fields: Partial<TaskChange> = {}): TaskChange =>
  told({ type, time: T0 + ms, ...fields });
const received = (ms: number, worker: string, retries = 0) => at(ms, 'received', { worker, retries });
const sent = (ms: number, retries = 0) => at(ms, 'sent', { retries });
/** A start without a time. */
const arrived = (ms: number, origin: TaskChange['origin']): TaskChange =>
  told({ type: 'started', time: null, heardAt: T0 + ms, origin, worker: W1 });

const BOTH = [received(0, W1), received(5_000, W2)];

/** Of `started` by the backend, only the time of its arrival is known. */
const SHOWN: readonly (readonly [string, readonly TaskChange[], Partial<TaskDetail>])[] = [
  [
    'the end at the second worker, though the start at the first one arrives later from the backend',
    [...BOTH, at(6_000, 'succeeded', { worker: W2 }), arrived(7_000, 'result')],
    { state: 'SUCCESS', worker: W2, finished: new Date(T0 + 6_000) },
  ],
  [
    'that the second worker revoked it, though the start at the first one arrives later from the backend',
    [...BOTH, at(6_000, 'revoked', { worker: W2 }), arrived(7_000, 'result')],
    { state: 'REVOKED', worker: W2, finished: new Date(T0 + 6_000) },
  ],
  [
    'the start at the first worker, which the second one has only received',
    [...BOTH, arrived(7_000, 'result')],
    { state: 'STARTED', worker: W1, finished: null },
  ],
  [
    'what the first worker itself reports after the end at the second one',
    [...BOTH, at(6_000, 'succeeded', { worker: W2 }), at(7_000, 'custom', { worker: W1, state: 'HALFWAY' })],
    { state: 'HALFWAY', worker: W1, finished: null },
  ],
  [
    'the last end, if only the start of the other run is known, without a time',
    [arrived(10, 'event'), received(1_000, W2), at(1_100, 'succeeded', { worker: W2 })],
    { state: 'SUCCESS', worker: W2, finished: new Date(T0 + 1_100) },
  ],
];

const RUN_TWICE = [
  ...[received(0, W1), at(10, 'started', { worker: W1 }), at(1_000, 'succeeded', { worker: W1 })],
  ...[received(5_000, W2), at(5_010, 'started', { worker: W2 })],
];

/** The end of a first run, of which nothing says the attempt. */
const RETRIED_LATER: readonly (readonly [string, readonly TaskChange[], string, readonly string[]])[] = [
  [
    'by the worker that had it again',
    [...RUN_TWICE, at(6_000, 'retried', { worker: W2 })],
    'RETRY',
    ['RECEIVED 0', 'STARTED 0', 'SUCCESS 0', 'RECEIVED 0', 'STARTED 0', 'RETRY 0'],
  ],
  [
    'by the worker that had it again, which has the next attempt, too',
    [...RUN_TWICE, at(6_000, 'retried', { worker: W2 }), received(6_010, W2, 1)],
    'RETRY',
    ['RECEIVED 0', 'STARTED 0', 'SUCCESS 0', 'RECEIVED 0', 'STARTED 0', 'RETRY 0', 'RECEIVED 1'],
  ],
];

/** The steps of timelines. The clock of the client is ahead in most cases. */
const TIMELINES: readonly (readonly [string, readonly TaskChange[], readonly string[]])[] = [
  [
    'before the first receipt, if that is nearer to it',
    [sent(100), received(90, W1), received(5_000, W2)],
    ['PENDING@90', 'RECEIVED@90', 'RECEIVED@5000'],
  ],
  [
    'before the second receipt, if that is nearer to it',
    [sent(5_010), received(90, W1), received(5_000, W2)],
    ['RECEIVED@90', 'PENDING@5000', 'RECEIVED@5000'],
  ],
  [
    'between two receipts that are equally near',
    [sent(100), received(90, W1), received(110, W2)],
    ['RECEIVED@90', 'PENDING@100', 'RECEIVED@110'],
  ],
  [
    'before two receipts within one millisecond',
    [sent(100), received(90, W1), received(90, W2)],
    ['PENDING@90', 'RECEIVED@90', 'RECEIVED@90'],
  ],
  [
    'before the start, if no receipt of its attempt is known',
    [sent(100), at(90, 'started', { worker: W1 })],
    ['PENDING@90', 'STARTED@90'],
  ],
  [
    'before the receipt of its own attempt, though that of another one is nearer',
    [received(10, W1), sent(100, 1), received(5_000, W1, 1)],
    ['RECEIVED@10', 'PENDING@100', 'RECEIVED@5000'],
  ],
  [
    'by itself, if nothing of its attempt is known',
    [received(10, W1), at(20, 'started', { worker: W1 }), sent(100, 1)],
    ['RECEIVED@10', 'STARTED@20', 'PENDING@100'],
  ],
];

describe('a task that was delivered to two workers', () => {
  it.each(SHOWN)('shows %s', async (_, changes, expected) => {
    for (const task of await tasksOf(orders(changes))) expect(task).toMatchObject(expected);
  });
});

describe('a task that succeeded, ran again, and was retried then', () => {
  it.each(RETRIED_LATER)('%s, has succeeded in its first attempt', async (_, changes, state, steps) => {
    const [task] = await tasksOf([changes]);
    expect(task?.state).toBe(state);
    expect(task?.timeline?.map((step) => `${step.state} ${step.retries}`)).toEqual(steps);
  });
});

describe('the message of an attempt', () => {
  it.each(TIMELINES)('is in the timeline %s', async (_, changes, steps) => {
    for (const { timeline } of await tasksOf(orders(changes))) {
      expect(timeline?.map(({ state, timestamp }) => `${state}@${Number(timestamp) - T0}`)).toEqual(steps);
    }
  });
});
