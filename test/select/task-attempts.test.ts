import { describe, expect, it } from 'vitest';
import type { TaskChangeEntry } from '../../src/model.ts';
import { attemptsIn } from '../../src/select/task-attempts.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 2, 0, second));

function entry(state: string, second: number | null, retries?: number, detail?: string): TaskChangeEntry {
  const timestamp = second === null ? null : at(second);
  return {
    state,
    timestamp,
    worker: null,
    detail: detail ?? null,
    ...(retries !== undefined && { retries }),
  };
}

describe('the attempts in a timeline', () => {
  it('are none of a task that has only been sent', () => {
    expect(attemptsIn([])).toEqual([]);
    expect(attemptsIn([entry('PENDING', 1)])).toEqual([]);
  });

  it('have their times and errors, by their numbers', () => {
    const timeline = [
      entry('PENDING', 0, 0),
      entry('RECEIVED', 1, 0),
      entry('STARTED', 2, 0),
      // The next attempt is received before the end of the first is reported.
      entry('RECEIVED', 3, 1),
      entry('RETRY', 4, 0, 'OSError: no'),
      entry('STARTED', 5, 1),
      entry('SUCCESS', 6, 1, 'fine'),
    ];
    expect(attemptsIn(timeline)).toEqual([
      { number: 1, started: at(2), finished: at(4), error: 'OSError: no' },
      { number: 2, started: at(5), finished: at(6), error: null },
    ]);
  });

  it('are counted where the changes name none', () => {
    const timeline = [
      entry('RETRY', null, undefined, 'a'),
      entry('RETRY', null, undefined, 'b'),
      entry('STARTED', 5),
      entry('FAILURE', 6, undefined, 'c'),
    ];
    expect(attemptsIn(timeline)).toEqual([
      { number: 1, started: null, finished: null, error: 'a' },
      { number: 2, started: null, finished: null, error: 'b' },
      { number: 3, started: at(5), finished: at(6), error: 'c' },
    ]);
  });

  it('have no end while they run', () => {
    expect(attemptsIn([entry('STARTED', 5), entry('PROGRESS', 6)])).toEqual([
      { number: 1, started: at(5), finished: null, error: null },
    ]);
  });
});
