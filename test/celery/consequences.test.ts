import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Task } from '../../src/model.ts';
import { decodeResult } from '../../src/sources/celery/protocol/results.ts';
import { context } from '../helpers/celery-events.ts';
import { query, T0, told } from '../history/telling.ts';

const FAILED = {
  status: 'FAILURE',
  result: { exc_type: 'ValueError', exc_message: ['boom'], exc_module: 'builtins' },
  traceback: 'Traceback (most recent call last):\nValueError: boom\n',
  children: [],
  date_done: new Date(T0).toISOString(),
};
const EXTENDED = { name: 'lab.add', args: [3], kwargs: {}, worker: null, retries: 0, queue: null };
/** Celery stores the failure of a step for the steps behind it, which no worker has. */
const STEP = { ...FAILED, ...EXTENDED, task_id: 'step' };
const CULPRIT = {
  ...FAILED,
  ...EXTENDED,
  name: 'lab.fail',
  worker: 'w1@a',
  queue: 'celery',
  task_id: 'culprit',
};
const BODY = {
  ...FAILED,
  result: {
    exc_type: 'ChordError',
    exc_message: ["Dependency culprit raised ValueError('boom')"],
    exc_module: 'celery.exceptions',
  },
  traceback: 'Traceback (most recent call last):\n  File "redis.py", line 1, in on_chord_part_return\n',
  task_id: 'body',
};

function historyWith(...metas: readonly { readonly task_id: string }[]) {
  const history = createMemoryHistory({ now: () => T0 + 1_000 });
  for (const meta of metas) {
    const decoded = decodeResult(JSON.stringify(meta), meta.task_id, 1_000);
    if (decoded !== null) history.writer.recordTask(decoded.change);
  }
  return history;
}

async function flagsOf(history: ReturnType<typeof historyWith>, id: string): Promise<Task['flags']> {
  return (await history.reader.getTask(id, context))?.flags;
}

describe('tasks that never ran and failed because another one did', () => {
  it('are flagged, as steps of a chain and as the body of a chord', async () => {
    const history = historyWith(CULPRIT, STEP, BODY);
    expect(await flagsOf(history, 'step')).toEqual(['consequence']);
    expect(await flagsOf(history, 'body')).toEqual(['consequence']);
    expect(await flagsOf(history, 'culprit')).toEqual([]);
    const step = await history.reader.getTask('step', context);
    expect(step).toMatchObject({ state: 'FAILURE', exception: "ValueError('boom')", finished: new Date(T0) });
    expect(step?.timeline?.map(({ state }) => state)).toEqual(['FAILURE']);
  });

  it.each([
    ['is not extended', { ...FAILED, task_id: 'a' }],
    ['is of a task that its worker does not know', { ...STEP, name: null, task_id: 'a' }],
    ['is of a task that waited for a chord', { ...BODY, traceback: FAILED.traceback, task_id: 'a' }],
  ])('are not seen in a result that %s', async (_, meta) => {
    expect(await flagsOf(historyWith(meta), 'a')).toEqual([]);
  });

  it('are no failures in the statistics', async () => {
    const history = historyWith(CULPRIT, STEP, BODY);
    const asked = { minutes: 60, now: new Date(T0 + 1_000), filter: query({}) };
    const { series, names, states } = await history.reader.getTaskStats(asked, context);
    expect(series.reduce((sum, { failed }) => sum + (failed ?? 0), 0)).toBe(1);
    expect(names.map(({ name, count, failed }) => [name, count, failed]).sort()).toEqual([
      ['lab.add', 1, 0],
      ['lab.fail', 1, 1],
    ]);
    expect(states).toEqual({ FAILURE: 3 });
  });

  it('have the flag no more when a worker reports that it ran after all', async () => {
    const history = historyWith(STEP);
    history.writer.recordTask(told({ id: 'step', type: 'failed', worker: 'w1@a', time: T0 + 500 }));
    expect(await flagsOf(history, 'step')).toEqual([]);
  });
});
