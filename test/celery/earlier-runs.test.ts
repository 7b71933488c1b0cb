import { describe, expect, it, onTestFinished } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { ScheduleRun } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { keptTasks } from '../../src/sources/celery/results/kept-tasks.ts';
import type { EarlierRunsOptions } from '../../src/sources/celery/schedules/earlier-runs.ts';
import { withOutcomes } from '../../src/sources/celery/schedules/run-outcomes.ts';
import { createSchedules } from '../../src/sources/celery/schedules/schedules.ts';
import { context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';
import { createSharedHistories } from './shared-history.ts';

const HALF_MINUTE = 30_000;
const START = Date.now() - 20 * HALF_MINUTE;

/** The tasks of an entry that runs each half minute, and one that a client sent; the last run failed. */
function run(history: Pick<History, 'writer'>, from: number, to: number, args = '(1,)'): void {
  for (let n = from; n < to; n += 1) {
    const base = { id: `run ${n}`, origin: 'event', name: 'report' } as const;
    const at = START + n * HALF_MINUTE;
    history.writer.recordTask({ ...base, type: 'sent', time: at, args, kwargs: '{}', retries: 0 });
    history.writer.recordTask({ ...base, type: 'started', time: at + 10, worker: 'w' });
    const type = n === 5 ? 'failed' : 'succeeded';
    history.writer.recordTask({ ...base, type, time: at + 2_010, runtime: 2, worker: 'w' });
  }
  const base = { id: 'by a client', origin: 'event', name: 'report' } as const;
  history.writer.recordTask({ ...base, type: 'sent', time: START + 45_000, args, kwargs: '{}' });
}

/** The runs that an instance shows which has heard nothing itself. */
function schedulesOf(earlier: EarlierRunsOptions, history: Pick<History, 'reader'>) {
  const beat_schedule = { often: { task: 'report', schedule: 30, args: [1] } };
  const schedules = createSchedules({
    name: 'celery',
    settings: { beat_schedule, timezone: 'UTC' },
    redbeat: { reader: null, unreadable: null },
    django: null,
    conf: async () => null,
    earlier,
  });
  onTestFinished(() => schedules.close());
  const source = withOutcomes(schedules.source, history.reader);
  const runs = async (): Promise<readonly ScheduleRun[]> =>
    (await source.listSchedules(context))?.[0]?.lastRuns ?? [];
  return { ...schedules, runs };
}

const ids = (runs: readonly ScheduleRun[]) => runs.map(({ taskId }) => taskId);

describe('runs of before', () => {
  it('are those of the store after a restart, with what became of them', async () => {
    const shared = createSharedHistories();
    const redactor = createRedactor({});
    const first = shared.open(redactor, false);
    first.wantLease(true);
    await until(() => first.isHolder());
    await first.setHearing('all');
    run(first, 0, 6);
    await until(() => first.status().waiting === 0 && first.status().lastWrite !== null);
    await first.close();

    const second = shared.open(redactor, false);
    onTestFinished(() => second.close());
    const schedules = schedulesOf({ reader: second.reader, kept: keptTasks(second) }, second);
    await until(async () => (await schedules.runs()).length > 0);
    const runs = await schedules.runs();
    expect(ids(runs)).toEqual(['run 5', 'run 4', 'run 3', 'run 2', 'run 1']);
    expect(runs.slice(0, 2).map(({ state, runtime }) => [state, runtime])).toEqual([
      ['FAILURE', 2],
      ['SUCCESS', 2],
    ]);
    expect(runs[0]?.at).toEqual(new Date(START + 5 * HALF_MINUTE));
  });

  it('are those heard before the entry was known, and go on with the next one', async () => {
    const history = createMemoryHistory({});
    onTestFinished(() => history.close());
    run(history, 0, 3);
    const schedules = schedulesOf({ reader: history.reader, kept: null }, history);
    await until(async () => ids(await schedules.runs()).length === 2);
    const time = START + 3 * HALF_MINUTE;
    const next = { id: 'run 3', type: 'sent', origin: 'event', name: 'report', time } as const;
    schedules.observe({ ...next, args: '(1,)', kwargs: '{}' });
    expect(ids(await schedules.runs())).toEqual(['run 3', 'run 2', 'run 1']);
  });

  it('are found although their arguments were redacted, and none with other arguments', async () => {
    const history = createMemoryHistory({});
    onTestFinished(() => history.close());
    for (const n of [0, 1, 2]) {
      const time = START + n * HALF_MINUTE + 1_000;
      const other = { id: `other ${n}`, type: 'sent', origin: 'event', name: 'report', time } as const;
      history.writer.recordTask({ ...other, args: '(2,)', kwargs: '{}' });
    }
    run(history, 0, 3, "('***',)");
    const schedules = schedulesOf({ reader: history.reader, kept: null }, history);
    await until(async () => (await schedules.runs()).length > 0);
    expect(ids(await schedules.runs())).toEqual(['run 2', 'run 1']);
  });

  it('are no hindrance where the history cannot be read', async () => {
    const history = createMemoryHistory({});
    onTestFinished(() => history.close());
    let asked = 0;
    const reader = {
      listTasks() {
        asked += 1;
        throw new Error('The store is away.');
      },
    };
    const schedules = schedulesOf({ reader, kept: null }, history);
    await until(() => asked > 0);
    expect(await schedules.runs()).toEqual([]);
  });
});
