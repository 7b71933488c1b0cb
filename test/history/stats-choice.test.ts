import { beforeEach, describe, expect, it } from 'vitest';
import { createStatsReader } from '../../src/history/stored/read/stats-reader.ts';
import { createStoreReads } from '../../src/history/stored/read/store-reads.ts';
import type { StoredView } from '../../src/history/stored/stored-view.ts';
import type { TaskQuery, TaskStats } from '../../src/source.ts';
import { type RollupsKit, rollupsKit, START } from './rollups-kit.ts';
import { CONTEXT, query } from './telling.ts';

const DAY_MINUTES = 1_440;
let kit: RollupsKit;
beforeEach(async () => {
  kit = await rollupsKit();
});

describe('the choice between tasks and rollups', () => {
  const ofTasks: TaskStats = {
    stepSeconds: 60,
    series: [],
    states: { SUCCESS: 1 },
    names: [],
    workers: [],
    queues: [],
    queueDepths: [],
  };

  function reader(view: Partial<StoredView>) {
    const errors: unknown[] = [];
    const whole = {
      session: () => kit.session,
      retention: { taskDays: 7, rollupDays: 90 },
      now: () => kit.now(),
      noteRead: (error: unknown) => error !== null && errors.push(error),
      ...{ droppedThrough: () => Number.NEGATIVE_INFINITY, countedSince: () => null },
      ...view,
    } as StoredView;
    const read = createStatsReader(whole, createStoreReads(whole), () => ofTasks);
    const from = async (minutes: number, filter: Partial<TaskQuery> = {}) =>
      (await read({ minutes, now: new Date(kit.now()), filter: query(filter) }, CONTEXT)).computedFrom;
    return { read, from, errors };
  }

  it('takes tasks where memory knows them, and without waiting', async () => {
    const { read, from } = reader({ droppedThrough: () => START });
    kit.moveTo(120);
    expect(read({ minutes: 60, now: new Date(kit.now()), filter: query() }, CONTEXT)).toMatchObject({
      ...{ computedFrom: 'tasks', states: { SUCCESS: 1 } },
    });
    expect(await from(60)).toBe('tasks');
  });

  it('takes rollups where tasks are too old, and tasks for what is not counted', async () => {
    const { from } = reader({});
    expect(await from(8 * DAY_MINUTES)).toBe('rollups');
    expect(await from(8 * DAY_MINUTES, { states: ['SUCCESS'] })).toBe('tasks');
  });

  it('takes rollups where the store has too many tasks', async () => {
    const { from } = reader({ droppedThrough: () => Number.POSITIVE_INFINITY });
    expect(await from(60)).toBe('tasks');
    const tasks = { count: async () => 20_001 };
    const many = reader({
      droppedThrough: () => Number.POSITIVE_INFINITY,
      session: () => ({ ...kit.session, tasks: { ...kit.session.tasks, ...tasks } }),
    });
    expect(await many.from(60)).toBe('rollups');
  });

  it('takes what memory has while the store is away, and reports it', async () => {
    const { from, errors } = reader({});
    kit.store.before = () => {
      throw new Error('away');
    };
    expect(await from(8 * DAY_MINUTES)).toBe('tasks');
    expect(errors.length).toBeGreaterThan(0);
    expect(await reader({ session: () => null }).from(8 * DAY_MINUTES)).toBe('tasks');
  });
});
