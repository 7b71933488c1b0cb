import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { History } from '../../src/history/history.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPage, TaskQuery } from '../../src/source.ts';
import { historyOf, page, query as queryOf, T0, told } from './telling.ts';

/** Longer than the time of a turn: behind each task searched, the event loop gets a turn. */
const SLOW_MS = 11;

function slowSearch(): boolean {
  const end = performance.now() + SLOW_MS;
  while (performance.now() < end);
  return true;
}

/** Does one of these things in each turn of the event loop, until all are done or `over` resolves. */
async function meanwhile<Result>(work: Promise<Result>, things: (() => void)[]): Promise<Result> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    things.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return work;
}

const historyWith = (count: number): History =>
  historyOf(Array.from({ length: count }, (_, n) => told({ id: `t${n}`, type: 'sent', time: T0 + n })));

describe('a search of texts', () => {
  it.each([
    ['all that may match', 20_000],
    ['the first of them', 4],
  ])('lets the event loop go on while it reads %s', async (_, scan) => {
    let turns = 0;
    await meanwhile(
      page(historyWith(5), { q: 't', search: slowSearch, scan }),
      Array.from({ length: 100 }, () => () => {
        turns += 1;
      }),
    );
    expect(turns).toBeGreaterThan(3);
  });

  it('sees what the rows show', async () => {
    const known = { name: 'shop.pay', worker: 'w@h', queue: 'mail', args: '(1,)', kwargs: '{}' };
    const ended = { ...known, result: "'paid'", exception: "E('no')" };
    const history = historyOf([
      told({ ...ended, id: 'fine', type: 'failed' }),
      told({ ...ended, id: 'fine', type: 'succeeded', time: T0 + 1 }),
      told({ ...ended, id: 'bad', type: 'failed' }),
      told({ id: 'bare', type: 'sent' }),
    ]);
    const seen = new Map<string, Partial<Task>>();
    const { tasks } = await page(history, { q: 't', search: (task) => Boolean(seen.set(task.id, task)) });
    expect(tasks.map(({ result, exception }) => [result, exception])).toEqual([
      ["'paid'", null],
      [null, "E('no')"],
      [null, null],
    ]);
    for (const { id, state, name, worker, queue, args, kwargs, result, exception } of tasks) {
      const shown = { id, state, name, worker, queue, args, kwargs, result, exception };
      expect(seen.get(id)).toEqual({ ...shown, redacted: false });
    }
  });

  it('gives each task that stays once, in order, while others change or are dropped', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 9 }), { maxLength: 6 }),
        fc.constantFrom<TaskQuery['order']>('asc', 'desc'),
        fc.constantFrom(2, 3, 100),
        fc.constantFrom(4, 20_000),
        async (changed, order, limit, scan) => {
          const history = historyWith(8);
          const changes = changed.map((n, at) => () => {
            history.writer.recordTask(told({ id: `t${n}`, type: 'started', time: T0 + 1_000 + at }));
          });
          const stay = Array.from({ length: 8 }, (_, n) => `t${n}`).filter(
            (id) => !changed.includes(Number(id.slice(1))),
          );
          const part = { q: 't', search: slowSearch, order, limit, scan };
          const seen: string[] = [];
          let after: TaskQuery['after'] = null;
          do {
            const { tasks, next }: TaskPage = await meanwhile(page(history, { ...part, after }), changes);
            const times = tasks.map(({ timestamp }) => Number(timestamp));
            expect(times).toEqual(times.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));
            seen.push(...tasks.map(({ id }) => id));
            after = next;
          } while (after !== null);
          expect(seen.filter((id) => stay.includes(id)).toSorted()).toEqual(stay.toSorted());
          if (order === 'desc') expect(new Set(seen).size).toBe(seen.length);
        },
      ),
      { seed: 11, numRuns: 25 },
    );
  });

  it('stops when nobody waits for it any more', async () => {
    const controller = new AbortController();
    const search = vi.fn(slowSearch);
    const asked = historyWith(50).reader.listTasks(queryOf({ q: 't', search }), {
      signal: controller.signal,
    });
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('left'));
    const searched = search.mock.calls.length;
    expect(searched).toBeLessThan(50);
    await expect(asked).rejects.toThrow('left');
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(search).toHaveBeenCalledTimes(searched);
  });
});
