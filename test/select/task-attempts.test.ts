import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import type { TaskAttempt } from '../../src/model.ts';
import { T0, taskOf, told } from '../history/telling.ts';

const at = (second: number): Date => new Date(T0 + second * 1_000);

type Message = readonly [type: TaskChange['type'], second: number, fields?: Partial<TaskChange>];

/** What a history makes of these messages. */
async function attemptsOf(...messages: readonly Message[]): Promise<readonly TaskAttempt[] | null> {
  const { attempts } = await taskOf(
    messages.map(([type, second, fields]) => told({ type, time: T0 + second * 1_000, ...fields })),
  );
  return attempts ?? null;
}

describe('the attempts of a task', () => {
  it('are none while it has only been sent', async () => {
    expect(await attemptsOf(['sent', 1])).toEqual([]);
  });

  it('have their times and errors, by their numbers', async () => {
    expect(
      await attemptsOf(
        ['sent', 0, { retries: 0 }],
        ['received', 1, { retries: 0 }],
        ['started', 2],
        ['retried', 3, { exception: 'OSError: no' }],
        ['received', 4, { retries: 1 }],
        ['started', 5],
        ['succeeded', 6, { result: 'fine' }],
      ),
    ).toEqual([
      { number: 1, started: at(2), finished: at(3), error: 'OSError: no' },
      { number: 2, started: at(5), finished: at(6), error: null },
    ]);
  });

  it('are counted where the changes name none', async () => {
    expect(
      await attemptsOf(
        ['started', 1],
        ['retried', 2, { exception: 'a' }],
        ['started', 3],
        ['retried', 4, { exception: 'b' }],
        ['started', 5],
        ['failed', 6, { exception: 'c' }],
      ),
    ).toEqual([
      { number: 1, started: at(1), finished: at(2), error: 'a' },
      { number: 2, started: at(3), finished: at(4), error: 'b' },
      { number: 3, started: at(5), finished: at(6), error: 'c' },
    ]);
  });

  it.each(['revoked', 'rejected'] as const)('end when it is %s, without an error', async (type) => {
    expect(await attemptsOf(['received', 1], ['started', 2], [type, 3])).toMatchObject([
      { number: 1, started: at(2), finished: at(3), error: null },
    ]);
  });

  it('have no end while they run', async () => {
    expect(await attemptsOf(['started', 5])).toEqual([
      { number: 1, started: at(5), finished: null, error: null },
    ]);
  });
});
