import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import type { Task } from '../../src/model.ts';
import { selectTasks } from '../../src/select.ts';
import type { TaskPage, TaskQuery } from '../../src/source.ts';
import { runs, seedOf, unsampled } from '../helpers/cases.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { CONDITIONS } from '../helpers/random-conditions.ts';
import { SORTS } from '../helpers/task-query.ts';
import { CONTEXT, historyOf, idsOf, page, query, T0, told } from './telling.ts';

/** A few tasks with many ties and gaps: what sorting gets wrong lies there. */
const changes = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 25 }).map((n) => `t${n}`),
    type: fc.constantFrom(
      'sent',
      'received',
      'started',
      'succeeded',
      'failed',
      'retried',
      'revoked',
      'custom',
    ),
    time: fc.integer({ min: 0, max: 30 }).map((n) => T0 + n),
    worker: fc.constantFrom('w1@a', 'w2@b', null),
    name: fc.constantFrom('lab.add', 'lab.mul', 'zoo', undefined),
    queue: fc.constantFrom('q1', 'q2', undefined),
    runtime: fc.constantFrom(0.5, 1, 2),
    rootId: fc.constantFrom('t1', 't2', undefined),
    parentId: fc.constantFrom('t1', 't3', undefined),
    groupId: fc.constantFrom('g', undefined),
    args: fc.constantFrom('(1,)', '(needle,)', undefined),
  }),
  { maxLength: 80, size: 'max' },
);

const asChange = (given: Record<string, unknown>) =>
  told({
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    state: given.type === 'custom' ? 'PROGRESS' : undefined,
  } as never);

const several = <T>(...values: T[]) => fc.subarray(values);

const filters = fc.record({
  states: several('SUCCESS', 'STARTED', 'PROGRESS', 'NONE'),
  names: several('lab.add', 'zoo', 'unknown'),
  workers: several('w1@a', 'w2@b'),
  queues: several('q1', 'q2'),
  rootId: fc.constantFrom(null, 't1', 'nobody'),
  parentId: fc.constantFrom(null, 't1'),
  groupId: fc.constantFrom(null, 'g'),
  q: fc.constantFrom(null, 'needle'),
  since: fc.constantFrom(null, new Date(T0 + 5)),
  until: fc.constantFrom(null, new Date(T0 + 20)),
  conditions: CONDITIONS,
});

const search = (task: Task) => String(task.args ?? '').includes('needle');

/** Most filters are off in most runs, else nothing is ever found. */
const oneOrTwo = filters.chain((all) =>
  fc.subarray(Object.keys(all) as (keyof typeof all)[], { maxLength: 2 }).map((keep) => {
    const chosen: Partial<TaskQuery> = Object.fromEntries(keep.map((key) => [key, all[key]]));
    return { ...chosen, search };
  }),
);

async function walk(
  history: History,
  part: Partial<TaskQuery>,
): Promise<{ pages: TaskPage[]; ids: string[] }> {
  const pages: TaskPage[] = [];
  let after: TaskQuery['after'] = null;
  do {
    const next: TaskPage = await page(history, { ...part, after });
    pages.push(next);
    after = next.next;
  } while (after !== null && pages.length < 500);
  return { pages, ids: pages.flatMap(({ tasks }) => idsOf(tasks)) };
}

describe('the task list', () => {
  it('agrees with sorting all tasks, for every sort, order, filter, page size and bound', async () => {
    await fc.assert(
      fc.asyncProperty(
        changes,
        oneOrTwo,
        fc.constantFrom(...SORTS),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(1, 4, 20_000),
        async (given, part, sort, order, limit, scan) => {
          const history = historyOf(given.map(asChange));
          const all = (await page(history, { limit: 1000 })).tasks;
          const expected = selectTasks(all, query({ ...part, sort, order, limit: 1000 }));
          const { pages, ids } = await walk(history, { ...part, sort, order, limit, scan });
          history.close();
          expect(ids).toEqual(idsOf(expected.tasks));
          for (const { total } of pages) if (total !== null) expect(total).toBe(expected.total);
          if (scan === 20_000) expect(pages[0]?.total).toBe(expected.total);
        },
      ),
      { numRuns: runs(900), seed: seedOf(3) },
    );
  });

  unsampled(() => {
    it('shows a row that does not change exactly once while others change', async () => {
      const history = historyOf(
        Array.from({ length: 40 }, (_, n) => told({ id: `t${n}`, type: 'sent', time: T0 + n })),
      );
      const seen: string[] = [];
      let after: TaskQuery['after'] = null;
      for (let step = 0; step < 20; step++) {
        const { tasks, next }: TaskPage = await page(history, { limit: 5, after });
        seen.push(...idsOf(tasks));
        // Rows that were not read yet move to the front and out of the walk; new ones come in there.
        history.writer.recordTask(told({ id: `t${step}`, type: 'started', time: T0 + 1_000 + step }));
        history.writer.recordTask(told({ id: `new${step}`, type: 'sent', time: T0 + 2_000 + step }));
        after = next;
        if (next === null) break;
      }
      expect(new Set(seen).size).toBe(seen.length);
      const unchanged = Array.from({ length: 30 }, (_, n) => `t${n + 10}`);
      expect(seen.filter((id) => unchanged.includes(id))).toEqual(unchanged.reverse());
    });

    it('hands out the same task object while a task is unchanged', async () => {
      const history = historyOf([told({ type: 'sent' }), told({ id: 'b', type: 'sent' })]);
      const before = (await page(history)).tasks;
      history.writer.recordTask(told({ id: 'b', type: 'started', time: T0 + 5 }));
      const after = (await page(history)).tasks;
      expect(after[1]).toBe(before[0]);
      expect(after[0]).not.toBe(before[1]);
    });

    it('looks at a bounded number of rows where no index helps, and goes on from there', async () => {
      const history = historyOf(
        Array.from({ length: 100 }, (_, n) =>
          told({ id: `t${n}`, type: 'sent', time: T0 + n, args: `(${n},)` }),
        ),
      );
      let looked = 0;
      const part = {
        q: '(3,)',
        scan: 10,
        search: (task: Task) => {
          looked++;
          return task.args === '(3,)';
        },
      };
      const first = await page(history, part);
      expect(looked).toBe(10);
      expect(first).toMatchObject({ tasks: [], total: null });
      const { ids } = await walk(history, part);
      expect(ids).toEqual(['t3']);
    });

    it('finds the workflow of a large group without asking each member for all others', async () => {
      const groupOf = (size: number): History =>
        historyOf(
          Array.from({ length: size }, (_, n) =>
            told({
              id: `t${n}`,
              type: 'sent',
              time: T0 + n,
              groupId: 'g',
              chordId: 'body',
              parentId: 'gone',
            }),
          ),
        );
      const [few, many] = [groupOf(1_000), groupOf(15_000)];
      const fastest = async (history: History, size: number): Promise<number> => {
        const times: number[] = [];
        for (let round = 0; round < 5; round += 1) {
          const start = cpuMs();
          const tree = await history.reader.getTaskTree('t7', CONTEXT);
          times.push(cpuMs() - start);
          expect(tree?.tasks).toHaveLength(size);
        }
        return Math.min(...times);
      };
      // Some 15 times as long; with each member asking, 225 times.
      const small = await fastest(few, 1_000);
      expect(await fastest(many, 15_000)).toBeLessThan(100 * Math.max(small, 0.5));
    });

    it('finds the workflow of a task over parents, groups and chords', async () => {
      const history = historyOf([
        told({ id: 'root', type: 'sent' }),
        told({ id: 'child', type: 'sent', parentId: 'root', rootId: 'root' }),
        told({ id: 'm1', type: 'sent', groupId: 'g', chordId: 'body' }),
        told({ id: 'm2', type: 'sent', groupId: 'g', chordId: 'body', parentId: 'child' }),
        told({ id: 'body', type: 'sent', parentId: 'm1' }),
        told({ id: 'alone', type: 'sent' }),
        told({ id: 'x', type: 'sent', parentId: 'y' }),
        told({ id: 'y', type: 'sent', parentId: 'x' }),
      ]);
      for (const id of ['root', 'child', 'm1', 'm2', 'body']) {
        const tree = await history.reader.getTaskTree(id, CONTEXT);
        expect(tree?.tasks[0]?.id).toBe(id);
        expect(new Set(idsOf(tree?.tasks ?? []))).toEqual(new Set(['root', 'child', 'm1', 'm2', 'body']));
      }
      expect(idsOf((await history.reader.getTaskTree('x', CONTEXT))?.tasks ?? [])).toEqual(['x', 'y']);
      expect(await history.reader.getTaskTree('nobody', CONTEXT)).toBeNull();
      expect((await history.reader.getTask('root', CONTEXT))?.children).toEqual(['child']);
    });
  });
});
