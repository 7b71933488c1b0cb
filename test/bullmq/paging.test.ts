import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import type { TaskPosition } from '../../src/source.ts';
import { expectOnce, idsOf, pagesLab, rest } from '../helpers/bullmq-pages.ts';
import { misplaced, page, walk } from '../helpers/bullmq-read.ts';
import { firstOf, unsampled } from '../helpers/cases.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';

const START = Date.UTC(2026, 9, 1);
const ORDERS = firstOf(['desc', 'asc'] as const);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'pages of jobs'), () => {
  const lab = pagesLab();

  it.each(ORDERS)(
    'list sets of any kind and size in one order, %s, each job once',
    async (order) => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 700, time: START },
        { queue: 'a', part: 'completed', first: 701, count: 1_100, time: START, step: 0 },
        { queue: 'b', part: 'delayed', count: 700, time: START },
        { queue: 'b', part: 'prioritized', first: 701, count: 700, time: START },
        { queue: 'c', part: 'failed', count: 300, time: START, step: 2 },
        { queue: 'c', part: 'wait', first: 301, count: 300, time: START, step: 2 },
      );
      const all = [...rest('a', 1_800), ...rest('b', 1_400), ...rest('c', 600)];
      for (const limit of [337, 1_000]) {
        const rows = await walk(lab.sources, { limit, order });
        expect(misplaced(rows, order)).toEqual([]);
        expect(idsOf(rows).toSorted()).toEqual(all.toSorted());
      }
    },
    60_000,
  );

  it('have the newest jobs of large sets that time does not sort, and say that others are missing', async () => {
    await lab.fill(
      { queue: 'a', part: 'wait', count: 1_600, time: START },
      { queue: 'b', part: 'completed', count: 1_200, time: START },
    );
    // It was delayed, so it is where newer ones are.
    await lab.redis.hset('bull:a:1590', 'timestamp', START - 5_000_000);
    for (const limit of [400, 1_000]) {
      const rows: Task[] = [];
      let after: TaskPosition | null = null;
      do {
        const one = await page(lab.sources, { limit, after });
        expect(one).toMatchObject({ total: 2_800, cursorExact: false });
        rows.push(...one.tasks);
        after = one.next;
      } while (after !== null);
      expect(misplaced(rows)).toEqual([]);
      const newest = rest('a', 1_000, new Set(), 601);
      expect(idsOf(rows).toSorted()).toEqual([...newest, ...rest('b', 1_200)].toSorted());
    }
    // Of one state that time sorts, and of one set, nothing is missing.
    for (const part of [{ states: ['SUCCESS'] }, { queues: ['a'], engineStates: ['waiting'] }]) {
      expect(await page(lab.sources, part)).toMatchObject({ cursorExact: true });
    }
  }, 60_000);

  it.each(ORDERS)(
    'of one large set go on in its own order, %s, for any number of jobs',
    async (order) => {
      const parts = { wait: 'waiting', delayed: 'delayed', prioritized: 'prioritized' } as const;
      await lab.fill(
        ...Object.keys(parts).map((part) => ({
          queue: 'a',
          part: part as 'wait',
          count: 2_300,
          time: START,
        })),
      );
      await lab.fill({ queue: 'b', part: 'wait', count: 10, time: START });
      for (const [part, engineState] of Object.entries(parts)) {
        const query = { queues: ['a'], engineStates: [engineState], order, limit: 290 };
        const rows = await walk(lab.sources, query);
        expect(idsOf(rows).toSorted()).toEqual(rest('a', 2_300).toSorted());
        if (part === 'prioritized') continue;
        expect(misplaced(rows, order)).toEqual([]);
      }
    },
    60_000,
  );

  it('of given ids have these jobs first, however many others are newer', async () => {
    await lab.fill(
      { queue: 'a', part: 'completed', count: 300, time: START },
      { queue: 'b', part: 'wait', count: 300, time: START },
    );
    const values = ['a:1', 'b:2', 'b:none', 'none:1', 'none'];
    const conditions = [{ field: 'id' as const, values, prefixes: [], isNegated: false }];
    const first = await page(lab.sources, { conditions, scan: 100 });
    expect(first).toMatchObject({ next: null, total: 2 });
    expect(idsOf(first.tasks).toSorted()).toEqual(['a:1', 'b:2']);
    const narrower = await page(lab.sources, { conditions, scan: 100, states: ['PENDING'] });
    expect(idsOf(narrower.tasks)).toEqual(['b:2']);
  });

  unsampled(() => {
    it('continue behind a position of only a time and an id', async () => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 900, time: START },
        { queue: 'b', part: 'prioritized', count: 700, time: START },
      );
      const all = await walk(lab.sources, { limit: 1_000 });
      for (const at of [0, 699, 811, 1_500]) {
        const { id, timestamp } = all[at] as Task;
        const { tasks } = await page(lab.sources, { limit: 50, after: { key: Number(timestamp), id } });
        expect(idsOf(tasks)).toEqual(idsOf(all.slice(at + 1, at + 51)));
      }
    });

    it('list jobs that were delayed before, or put in front, each once, though not by time', async () => {
      await lab.fill({ queue: 'a', part: 'wait', count: 3_000, time: START });
      // Every third one is of another time than its neighbours.
      for (let id = 1; id <= 3_000; id += 3)
        await lab.redis.hset(`bull:a:${id}`, 'timestamp', START - 5_000_000 + id);
      for (let id = 2; id <= 3_000; id += 600)
        await lab.redis.hset(`bull:a:${id}`, 'timestamp', START + 9_000_000);
      for (const limit of [290, 999]) {
        expectOnce(await walk(lab.sources, { limit }), rest('a', 3_000));
        expectOnce(await walk(lab.sources, { limit, order: 'asc' }), rest('a', 3_000));
      }
    }, 60_000);

    it('list jobs of one millisecond by their ids', async () => {
      await lab.fill(
        { queue: 'a', part: 'completed', count: 2_700, time: START, step: 0 },
        { queue: 'b', part: 'wait', count: 900, time: START, step: 0 },
      );
      const rows = await walk(lab.sources, { limit: 400 });
      expect(misplaced(rows)).toEqual([]);
      expectOnce(rows, [...rest('a', 2_700), ...rest('b', 900)]);
    }, 60_000);

    it('accept whatever a client makes of a position', async () => {
      await lab.fill(
        { queue: 'a', part: 'wait', count: 1_500, time: START },
        { queue: 'b', part: 'failed', count: 5, time: START },
      );
      const one = { queues: ['a'], engineStates: ['waiting'], limit: 10 };
      const { next } = await page(lab.sources, one);
      const marks = [
        '',
        ',',
        '%',
        `${next?.mark?.slice(0, 9)}`,
        'set1{',
        '\ud800',
        ...[
          [],
          {},
          ['a'],
          ['a', 'wait'],
          ['a', 'wait', -1],
          ['a', 'wait', 1.5],
          ['a', 'wait', 9e15],
          ['a', 'wait', {}],
          ['a', 'completed', 5],
          ['none', 'wait', 5],
          [5, ['wait'], 5],
        ].map((value) => `set1${JSON.stringify(value)}`),
      ];
      for (const mark of marks) {
        for (const sort of ['timestamp', 'name'] as const) {
          const { tasks } = await page(lab.sources, {
            limit: 10,
            sort,
            after: { key: START + 700, id: 'a:\ud800', mark },
          });
          expect(tasks.length).toBeLessThanOrEqual(10);
        }
      }
      for (const after of [
        { key: null, id: 'x' },
        { key: 'text', id: '' },
        { key: 1e300, id: 'a:1' },
        { key: -1e300, id: '' },
      ]) {
        expect((await page(lab.sources, { limit: 10, after })).tasks.length).toBeLessThanOrEqual(10);
      }
    });
  });
});
