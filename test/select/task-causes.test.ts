import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { summarizeTasks } from '../../src/select.ts';
import { orders, query, T0 } from '../history/telling.ts';

const MINUTE = 60_000;
const failed = (id: string, minute: number, cause: string, more: Partial<Task> = {}): Task => ({
  ...{ id, state: 'FAILURE', timestamp: new Date(T0 + minute * MINUTE), ...more },
  cause: { id: cause, exception: 'E', message: null, frame: null },
});

/** Of five minutes, up to the fifth. */
function causesOf(tasks: readonly Task[], causes = 50) {
  const filter = query({ causeOf: ({ cause = null }) => cause });
  return summarizeTasks(tasks, { minutes: 5, now: new Date(T0 + 5 * MINUTE), causes, filter });
}

describe('causes of tasks in memory', () => {
  it('are counted in any order: the last failure is the sample, of several the one with the first id', () => {
    const ofOne = [
      failed('b', 4, 'x', { worker: 'w' }),
      failed('a', 4, 'x', { name: 'n' }),
      failed('c', 4, 'x', { name: 'n' }),
      failed('0', 0, 'x', { name: 'm' }),
    ];
    // The first of these is one of the window by its last change alone.
    const others = [failed('y', 1, 'w', { finished: new Date(T0 - MINUTE) }), failed('y', 1, 'v')];
    const expected = [
      {
        ...{ id: 'x', exception: 'E', message: null, frame: null, count: 4, isNew: null },
        ...{ firstSeen: new Date(T0), lastSeen: new Date(T0 + 4 * MINUTE), sample: 'a' },
        ...{ names: ['n', 'm'], workers: ['w'] },
      },
      { id: 'v', count: 1, names: [], workers: [] },
      { id: 'w', count: 1, firstSeen: new Date(T0 - MINUTE), isNew: false },
    ];
    for (const order of orders(ofOne)) {
      const { causes, stepSeconds } = causesOf([...order, ...others]);
      expect(causes).toMatchObject(expected);
      const activity = causes?.map((cause) =>
        cause.activity.flatMap((count, step) => (count === 0 ? [] : [[(step * stepSeconds) / 60, count]])),
      );
      expect(activity).toEqual([
        [
          [0, 1],
          [4, 3],
        ],
        [[1, 1]],
        [],
      ]);
    }
  });

  it('have their 20 most frequent names and workers', () => {
    const tasks = Array.from({ length: 22 }, (_, n) => {
      const name = String.fromCharCode(97 + n);
      return failed(name, 1, 'x', { name, worker: name });
    });
    const [cause] = causesOf([...tasks, failed('again', 1, 'x', { name: 'v', worker: 'v' })]).causes ?? [];
    expect(cause?.names).toEqual(Array.from('vabcdefghijklmnopqrs'));
    expect(cause?.workers).toEqual(cause?.names);
  });

  it('are 1,000 at most, counted for 20,000 at a time, of which the rarest make room for others', () => {
    const rare = (n: number): Task => failed(`${n}`, 2, `r${String(n).padStart(5, '0')}`);
    const others = Array.from({ length: 19_998 }, (_, n) => rare(n));
    const early = [4, 1, 4, 3].map((minute, n) => failed(`early${n}`, minute, 'early'));
    const late = [1, 2, 3].map((minute, n) => failed(`late${n}`, minute, 'late'));
    // The second failure of the last of them is the first that is counted, as room was made in between.
    const { causes, causesTruncated } = causesOf(
      [...early, ...others, ...late, failed('new', 2, 'new'), rare(19_997)],
      2_000,
    );
    expect(causes).toHaveLength(1_000);
    expect(causes?.slice(0, 3)).toMatchObject([
      // When it was first seen was forgotten by then, but for the failures that are counted.
      { id: 'early', count: 4, firstSeen: new Date(T0 + MINUTE), lastSeen: new Date(T0 + 4 * MINUTE) },
      { id: 'late', count: 3 },
      { id: 'new', count: 1 },
    ]);
    expect(causesTruncated).toBe(true);
  });
});
