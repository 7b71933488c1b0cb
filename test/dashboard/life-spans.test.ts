import { describe, expect, it } from 'vitest';
import { livesOf } from '../../src/dashboard/task/life-spans.ts';
import { attemptsIn } from '../../src/select/task-attempts.ts';
import type { TaskDetailBody } from '../../src/wire.ts';

const T0 = Date.UTC(2026, 10, 21, 2);
const at = (seconds: number): string => new Date(T0 + seconds * 1_000).toISOString();

function taskOf(
  task: Partial<TaskDetailBody>,
  timeline: readonly (readonly [state: string, seconds: number, retries: number | null])[],
): TaskDetailBody {
  const entries = timeline.map(([state, seconds, retries]) => ({
    ...{
      state,
      timestamp: at(seconds),
      worker: null,
      detail: state === 'RETRY' ? 'TimeoutError' : null,
      retries,
    },
  }));
  const attempts = attemptsIn(entries.map((entry) => ({ ...entry, timestamp: new Date(entry.timestamp) })));
  return {
    ...{ sent: at(0), eta: null, received: null, started: null, finished: null },
    ...{ done: false, runtime: null, wait_seconds: null },
    ...task,
    attempts: attempts.map(({ number, started, finished, error }) => ({
      ...{ number, error },
      started: started?.toISOString() ?? null,
      finished: finished?.toISOString() ?? null,
    })),
  } as TaskDetailBody;
}

const wordsOf = (task: TaskDetailBody, now = 60) =>
  livesOf(task, T0 + now * 1_000).map(({ number, spans, error }) =>
    [
      `${number}:`,
      ...spans.map(({ text, ms }) => `${text} ${ms / 1_000}`),
      ...(error === null ? [] : [error]),
    ].join(' '),
  );

const FIRST = [
  ['PENDING', 0, 0],
  ['RECEIVED', 1, 0],
  ['STARTED', 2, 0],
  ['RETRY', 5, 0],
] as const;

describe('the life of a task', () => {
  it('is the wait and the run of its only attempt', () => {
    const task = taskOf(
      { state: 'SUCCESS', done: true, started: at(2), wait_seconds: 2, runtime: 3, finished: at(5) },
      [...FIRST.slice(0, 3), ['SUCCESS', 5, 0]],
    );
    expect(wordsOf(task)).toEqual(['1: waited 2 ran 3']);
  });

  it('has each attempt and the time between them, of which the wait for a worker is no part', () => {
    const last = [
      ['RECEIVED', 6, 1],
      ['STARTED', 15, 1],
    ] as const;
    const task = taskOf({ state: 'STARTED', received: at(6), started: at(15), wait_seconds: 1 }, [
      ...FIRST,
      ...last,
    ]);
    expect(wordsOf(task)).toEqual([
      '1: before its start 2 failed after 3 until retry 9 TimeoutError',
      '2: waited 1 running for 45',
    ]);
  });

  it('goes on between two attempts while a retry waits', () => {
    const task = taskOf({ state: 'RETRY', started: at(2), wait_seconds: 2, eta: at(90) }, FIRST);
    expect(wordsOf(task)).toEqual(['1: before its start 2 failed after 3 until retry 55 TimeoutError']);
  });

  it('leaves out what overlapping messages leave unknown', () => {
    const task = taskOf(
      { state: 'SUCCESS', done: true, started: at(4), wait_seconds: 0, runtime: 2, finished: at(6) },
      [...FIRST.slice(0, 3), ['STARTED', 4, 1], ['RETRY', 5, 0], ['SUCCESS', 6, 1]],
    );
    expect(wordsOf(task)).toEqual(['1: before its start 2 failed after 3 TimeoutError', '2: waited 0 ran 2']);
  });

  it('has attempts of which only the error is known, as of BullMQ', () => {
    const task = taskOf({ state: 'FAILURE', done: true, started: at(8), runtime: 2, finished: at(10) }, []);
    const unknown = { started: null, finished: null };
    const attempts = [
      { number: 1, ...unknown, error: 'full' },
      { number: 2, started: at(8), finished: at(10), error: 'torn' },
    ];
    expect(wordsOf({ ...task, attempts })).toEqual(['1: full', '2: failed after 2 torn']);
    expect(wordsOf({ ...task, attempts: null })).toEqual(['1: failed after 2']);
  });

  it('is a wait for its eta, and then for a worker, before it starts', () => {
    const task = taskOf({ state: 'RECEIVED', received: at(1), eta: at(21) }, [['RECEIVED', 1, 0]]);
    expect(wordsOf(task, 11)).toEqual(['1: held until its ETA 10']);
    expect(wordsOf(task)).toEqual(['1: held until its ETA 20 on the worker, not started 39']);
    expect(wordsOf(taskOf({ state: 'PENDING' }, []))).toEqual(['1: waiting for a worker 60']);
  });
});
