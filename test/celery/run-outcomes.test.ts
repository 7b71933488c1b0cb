import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Schedule, ScheduleRun } from '../../src/model.ts';
import type { ScheduleSource } from '../../src/source.ts';
import { withOutcomes } from '../../src/sources/celery/schedules/run-outcomes.ts';

const context = { signal: new AbortController().signal };
const NOW = Date.now();

function scheduleOf(id: string, runs: readonly string[] | null): Schedule {
  const lastRuns =
    runs?.map((taskId, index) => ({ taskId, state: null, at: new Date(NOW - index * 1_000) })) ?? null;
  return { id, name: id, lastRuns };
}

/** A history of tasks `ok …`, `failed …` and `running …`. */
function historyOf(ids: readonly string[]) {
  const history = createMemoryHistory({});
  for (const id of ids) {
    const base = { id, origin: 'event', name: 'report' } as const;
    history.writer.recordTask({ ...base, type: 'started', time: NOW - 3_000 });
    if (id.startsWith('ok')) history.writer.recordTask({ ...base, type: 'succeeded', time: NOW, runtime: 3 });
    if (id.startsWith('failed')) history.writer.recordTask({ ...base, type: 'failed', time: NOW });
  }
  return history;
}

async function runsOf(source: ScheduleSource, id: string): Promise<readonly ScheduleRun[]> {
  const listed = await source.listSchedules(context);
  return listed?.find((schedule) => schedule.id === id)?.lastRuns ?? [];
}

describe('the runs of a schedule', () => {
  it('have the state and the run time of their tasks, and none where the task is unknown', async () => {
    const { reader, writer } = historyOf(['ok 1', 'failed 1', 'running 1']);
    const listed = [scheduleOf('a', ['running 1', 'failed 1', 'ok 1', 'gone']), scheduleOf('b', null)];
    const source = withOutcomes({ name: 'celery', listSchedules: () => listed }, reader);
    const runs = await runsOf(source, 'a');
    expect(runs.map(({ state }) => state)).toEqual(['STARTED', 'FAILURE', 'SUCCESS', null]);
    expect(runs[2]?.runtime).toBe(3);
    writer.recordTask({ id: 'running 1', origin: 'event', type: 'succeeded', time: NOW, runtime: 4 });
    expect((await runsOf(source, 'a'))[0]).toMatchObject({ state: 'SUCCESS', runtime: 4 });
    expect((await source.listSchedules(context))?.[1]?.lastRuns).toBeNull();
  });

  it('are looked up a few at a time, the latest of every entry first, until all are known', async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `ok ${index}`);
    const { reader } = historyOf(ids);
    const listed = Array.from({ length: 30 }, (_, index) =>
      scheduleOf(`s${index}`, ids.slice(index * 20, index * 20 + 20)),
    );
    const source = withOutcomes({ name: 'celery', listSchedules: () => listed }, reader);
    const known = async (): Promise<number[]> =>
      ((await source.listSchedules(context)) ?? []).map(
        ({ lastRuns }) => lastRuns?.filter(({ state }) => state !== null).length ?? 0,
      );
    const first = await known();
    expect(Math.min(...first)).toBeGreaterThanOrEqual(6);
    expect(Math.max(...first)).toBeLessThanOrEqual(7);
    await known();
    expect(await known()).toEqual(listed.map(() => 20));
  });
});
