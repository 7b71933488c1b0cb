import { describe, expect, it } from 'vitest';
import type { Schedule, ScheduleRun } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const _NOW = new Date('2026-11-21T02:00:10.900Z');

describe('a schedule', () => {
  it('has every field, its arguments redacted', () => {
    const schedule: Schedule = {
      id: '1',
      app: 'shop',
      name: 'nightly',
      task: 'shop.clean',
      schedule: '0 7 * * 1 (m/h/dM/MY/d)',
      enabled: false,
      args: [1],
      kwargs: { api_key: 'abc' },
      queue: 'q',
      timezone: 'Europe/Berlin',
      lastRunAt: new Date(0),
      nextRunAt: new Date(Number.NaN),
      totalRunCount: 3,
      lastRuns: [
        { taskId: 't2', state: 'FAILURE', at: new Date(5_000), runtime: 1.5 },
        { taskId: 't1', state: null, at: new Date(0) },
        // Neither shows a run.
        { taskId: 't0', state: 'SUCCESS', at: new Date(Number.NaN) },
        { taskId: '', state: 'SUCCESS', at: new Date(0) },
      ],
    };
    expect(serializer.schedule(schedule, 'mine')).toEqual({
      id: '1',
      app: 'shop',
      name: 'nightly',
      task: 'shop.clean',
      schedule: '0 7 * * 1 (m/h/dM/MY/d)',
      enabled: false,
      args: '[1]',
      kwargs: '{"api_key":"***"}',
      queue: 'q',
      timezone: 'Europe/Berlin',
      last_run_at: '1970-01-01T00:00:00.000Z',
      next_run_at: null,
      total_run_count: 3,
      last_runs: [
        { task_id: 't2', state: 'FAILURE', at: '1970-01-01T00:00:05.000Z', runtime: 1.5 },
        { task_id: 't1', state: null, at: '1970-01-01T00:00:00.000Z', runtime: null },
      ],
      source: 'mine',
    });
  });

  it('lists its latest 20 runs, and says when they are unknown', () => {
    const lastRuns = Array.from({ length: 25 }, (_, index) => ({
      taskId: `t${index}`,
      state: 'SUCCESS',
      at: new Date(0),
    }));
    const runsOf = (schedule: Partial<Schedule>) =>
      serializer.schedule({ id: '1', name: 'nightly', ...schedule }, 's')?.last_runs;
    expect(runsOf({ lastRuns })?.map(({ task_id }) => task_id)).toEqual(
      lastRuns.slice(0, 20).map(({ taskId }) => taskId),
    );
    expect(runsOf({ lastRuns: [] })).toEqual([]);
    expect(runsOf({})).toBeNull();
    expect(runsOf({ lastRuns: [null as unknown as ScheduleRun] })).toEqual([]);
  });

  it('is none without id or name', () => {
    expect(serializer.schedule({ name: 'x' } as Schedule, 's')).toBeNull();
    expect(serializer.schedule({ id: 'x' } as Schedule, 's')).toBeNull();
  });
});
