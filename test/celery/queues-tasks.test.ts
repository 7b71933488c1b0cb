import { describe, expect, it } from 'vitest';
import type { TaskSort } from '../../src/source.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { useQueueRedis } from './queue-redis.ts';
import { context, heard, queryOf, waiting, walkPages } from './queues-lab.ts';

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'tasks that wait beside those that are known'),
  () => {
    const own = useQueueRedis();
    const { open } = own;

    it('come after all others, once, whatever the order', async () => {
      const { tasks, hear } = await open(['a', 'b', 'known1', 'c'].map((id) => waiting(id)));
      await hear(...['known1', 'known2', 'known3'].map((id) => heard(id)));
      const ids = async (order: 'asc' | 'desc', limit: number): Promise<string[]> =>
        (await walkPages(tasks, { order, limit })).map(({ id }) => id);
      for (const limit of [1, 2, 3, 4, 5, 6, 100]) {
        expect(await ids('desc', limit)).toEqual(['known3', 'known2', 'known1', 'a', 'b', 'c']);
        expect(await ids('asc', limit)).toEqual(['known1', 'known2', 'known3', 'a', 'b', 'c']);
      }
      expect((await tasks.listTasks(queryOf({ limit: 1 }), context)).total).toBe(6);
      expect((await tasks.listTasks(queryOf({ limit: 0 }), context)).total).toBe(6);
    });

    it('give what their message tells to a task of which an event comes later', async () => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const { tasks, hear } = await open([
        waiting('a', { group: 'g', root_id: 'r', traceparent, timelimit: [30, null] }),
      ]);
      await own.client.del('celery');
      await hear(heard('a', { timestamp: Date.now() / 1000 }));
      await until(async () => (await tasks.getTask('a', context))?.queue === 'celery');
      expect(await tasks.getTask('a', context)).toMatchObject({
        state: 'RECEIVED',
        name: 'yard.known',
        groupId: 'g',
        rootId: 'r',
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        timeLimits: { soft: null, hard: 30 },
      });
    });

    it('pass the filters that they match, and no others', async () => {
      const now = Date.now();
      const { tasks } = await open([
        waiting('a', { root_id: 'r', parent_id: 'p', group: 'g' }),
        waiting('b', { task: 'yard.other', eta: new Date(now - 60_000).toISOString() }),
      ]);
      const found = async (given: Parameters<typeof queryOf>[0]): Promise<unknown> => {
        const page = await tasks.listTasks(queryOf(given), context);
        expect(page.total).toBe(page.tasks.length);
        return page.tasks.map(({ id }) => id);
      };
      expect(await found({})).toEqual(['a', 'b']);
      expect(await found({ states: ['PENDING', 'STARTED'] })).toEqual(['a', 'b']);
      expect(await found({ states: ['STARTED'] })).toEqual([]);
      expect(await found({ names: ['yard.other'] })).toEqual(['b']);
      expect(await found({ queues: ['celery'] })).toEqual(['a', 'b']);
      expect(await found({ queues: ['other'] })).toEqual([]);
      expect(await found({ workers: ['w@h'] })).toEqual([]);
      expect(await found({ since: new Date(0) })).toEqual([]);
      expect(await found({ until: new Date() })).toEqual([]);
      expect(await found({ rootId: 'r' })).toEqual(['a']);
      expect(await found({ parentId: 'p' })).toEqual(['a']);
      expect(await found({ groupId: 'g' })).toEqual(['a']);
      expect(await found({ q: 'x', search: ({ flags }) => flags?.includes('overdue') === true })).toEqual([
        'b',
      ]);
    });

    it('look at no more rows than an answer may', async () => {
      const { tasks } = await open(Array.from({ length: 50 }, (_, at) => waiting(`t${at}`)));
      let looked = 0;
      const search = (): boolean => ++looked % 17 === 0;
      const page = await tasks.listTasks(queryOf({ q: 'x', search, scan: 20 }), context);
      expect(looked).toBe(20);
      expect(page).toMatchObject({ total: null, tasks: [{ id: 't16' }] });
      expect(page.next).not.toBeNull();
      looked = 0;
      const rows = await walkPages(tasks, { q: 'x', search: ({ id }) => id === 't44', scan: 20 });
      expect(rows.map(({ id }) => id)).toEqual(['t44']);
    });

    it.each<TaskSort>(['name', 'state', 'started', 'received', 'finished', 'runtime'])(
      'are sorted among the others by %s',
      async (sort) => {
        const names = ['m', 'c', 'x', 'a'];
        const { tasks, hear } = await open(names.map((task, at) => waiting(`w${at}`, { task })));
        await hear(
          heard('known1', { type: 'task-started' }),
          ...[1, 2, 3, 4, 5].map((at) => heard(`known${at}`, { name: 'cmz'[at % 3] })),
        );
        const whole = await tasks.listTasks(queryOf({ sort, order: 'asc' }), context);
        expect(whole.tasks).toHaveLength(9);
        expect(whole.total).toBe(9);
        for (const order of ['asc', 'desc'] as const) {
          const all = (await tasks.listTasks(queryOf({ sort, order }), context)).tasks;
          const keys = all.map((task) => task[sort] ?? null).filter((key) => key !== null);
          const sorted = keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
          expect(keys).toEqual(order === 'asc' ? sorted : sorted.toReversed());
          for (const limit of [1, 2, 4, 7]) {
            const paged = await walkPages(tasks, { sort, order, limit });
            expect(paged.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
          }
        }
      },
    );

    it('keep their place among others of which few match', async () => {
      const { tasks, hear } = await open(['n05', 'n15', 'n25'].map((task) => waiting(`w${task}`, { task })));
      await hear(
        ...Array.from({ length: 30 }, (_, at) =>
          heard(`known${at}`, { name: `n${String(at).padStart(2, '0')}` }),
        ),
      );
      const search = ({ id }: { readonly id: string }): boolean => id.startsWith('w') || /[37]$/.test(id);
      const rows = await walkPages(tasks, { sort: 'name', order: 'asc', limit: 4, q: 'x', search, scan: 6 });
      expect(rows.map(({ name }) => name)).toEqual([
        'n03',
        'n05',
        'n07',
        'n13',
        'n15',
        'n17',
        'n23',
        'n25',
        'n27',
      ]);
    });

    it('are found by id, with nothing invented', async () => {
      const { tasks, hear } = await open([waiting('a'), waiting('known1')]);
      await hear(heard('known1'));
      expect(await tasks.getTask('a', context)).toMatchObject({
        id: 'a',
        state: 'PENDING',
        timestamp: null,
        children: [],
        timeline: [],
      });
      expect((await tasks.getTask('known1', context))?.state).toBe('RECEIVED');
      expect(await tasks.getTask('nobody', context)).toBeNull();
      expect(await tasks.getTaskTree?.('nobody', context)).toBeNull();
    });

    it('join the workflows that they belong to', async () => {
      const { tasks, hear } = await open([
        waiting('child', { parent_id: 'known1', root_id: 'known1' }),
        waiting('grandchild', { parent_id: 'child', root_id: 'known1', group: 'g' }),
        waiting('member', { group: 'g' }),
        waiting('stranger', { root_id: 'known1', parent_id: 'gone' }),
      ]);
      await hear(heard('known1'), heard('known2', { parent_id: 'member' }));
      const family = ['child', 'grandchild', 'known1', 'known2', 'member'];
      for (const id of family) {
        const tree = await tasks.getTaskTree?.(id, context);
        expect(tree?.tasks.map((task) => task.id).toSorted()).toEqual(family);
        expect(tree?.tasks[0]?.id).toBe(id);
      }
      expect((await tasks.getTaskTree?.('child', context))?.rootId).toBe('known1');
    });
  },
);
