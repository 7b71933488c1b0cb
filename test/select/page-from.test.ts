import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { pageFrom, selectTasks } from '../../src/select.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../src/source.ts';
import { SORTS } from '../helpers/task-query.ts';
import { query, T0 } from '../history/telling.ts';

async function* stream(tasks: readonly Task[]): AsyncGenerator<Task> {
  yield* tasks;
}

const idsOf = (tasks: readonly Task[]) => tasks.map(({ id }) => id);

const taskArbitrary = fc.record({
  state: fc.constantFrom('SUCCESS', 'FAILURE'),
  name: fc.constantFrom('a', 'b', null),
  runtime: fc.constantFrom(1, 2, null),
  timestamp: fc.constantFrom(new Date(T0), new Date(T0 + 1), null),
});
const tasksArbitrary = fc
  .array(taskArbitrary, { maxLength: 30 })
  .map((tasks): Task[] => tasks.map((task, at) => ({ id: `t${(at * 7) % 31}`, ...task })));
const queryArbitrary = fc
  .record({
    sort: fc.constantFrom(...SORTS),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 7 }),
    states: fc.constantFrom([], ['FAILURE']),
  })
  .map((part) => query(part));

/** All rows, page by page. */
async function walk(asked: TaskQuery, read: (asked: TaskQuery) => Promise<TaskPage>): Promise<string[]> {
  const ids: string[] = [];
  let after: TaskPosition | null = null;
  do {
    const { tasks, next } = await read({ ...asked, after });
    expect(tasks.length).toBeLessThanOrEqual(asked.limit);
    ids.push(...idsOf(tasks));
    after = next;
  } while (after !== null);
  return ids;
}

describe('a page from a stream', () => {
  it('reads no more once nobody waits, and lets the stream end what it has open', async () => {
    const leaving = new AbortController();
    let [read, ended] = [0, false];
    async function* endless(): AsyncGenerator<Task> {
      try {
        for (; ; read += 1) {
          if (read === 1_000) leaving.abort(new Error('left'));
          yield { id: `t${read}`, state: 'SUCCESS' };
        }
      } finally {
        ended = true;
      }
    }
    await expect(pageFrom(endless(), query(), { signal: leaving.signal })).rejects.toThrow('left');
    expect([read, ended]).toEqual([1_000, true]);
  });

  it('is the one that sorting all tasks gives, with its total and its end', async () => {
    await fc.assert(
      fc.asyncProperty(tasksArbitrary, queryArbitrary, async (tasks, asked) => {
        const none = { ...asked, limit: 0 };
        expect(await pageFrom(stream(tasks), none)).toEqual(selectTasks(tasks, none));
        for (let after: TaskPosition | null = null; ; ) {
          const expected = selectTasks(tasks, { ...asked, after });
          expect(await pageFrom(stream(tasks), { ...asked, after })).toEqual(expected);
          after = expected.next;
          if (after === null) return;
        }
      }),
    );
  });

  it('of sorted rows has them all over its pages, however few may be read at once', async () => {
    await fc.assert(
      fc.asyncProperty(tasksArbitrary, queryArbitrary, async (tasks, asked) => {
        const all = selectTasks(tasks, { ...asked, limit: 1_000, states: [] }).tasks;
        const expected = idsOf(selectTasks(tasks, { ...asked, limit: 1_000 }).tasks);
        for (const scan of [2, 1_000]) {
          const read = (one: TaskQuery) => pageFrom(stream(all), { ...one, scan }, { isSorted: true });
          expect(await walk(asked, read)).toEqual(expected);
        }
      }),
    );
  });

  it('of sorted rows stops reading at its end', async () => {
    let read = 0;
    function* rows(): Generator<Task> {
      for (; ; read += 1) yield { id: String(1e6 - read), state: 'SUCCESS', timestamp: new Date(T0 - read) };
    }
    const { tasks, next, total } = await pageFrom(rows(), query({ limit: 3 }), { isSorted: true });
    expect([tasks.length, total, read]).toEqual([3, null, 3]);
    expect(next).toEqual({ key: T0 - 2, id: String(1e6 - 2) });
  });

  it('lets the host go on while it reads rows that are all there already', async () => {
    let turns = 0;
    let isReading = true;
    const count = (): void => {
      turns += 1;
      if (isReading) setImmediate(count);
    };
    setImmediate(count);
    function* rows(): Generator<Task> {
      for (let at = 0; at < 4_000; at += 1) {
        const end = performance.now() + 0.05;
        while (performance.now() < end);
        yield { id: String(at), state: 'SUCCESS' };
      }
    }
    const { total } = await pageFrom(rows(), query({ limit: 10 }));
    isReading = false;
    expect(total).toBe(4_000);
    // 4 ms are 80 such rows, and the turn ends with the batch of 256 in which they are over.
    expect(turns).toBeGreaterThan(5);
  });
});
