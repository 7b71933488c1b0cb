import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { progressOf } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { CONTEXT, historyOf, orders, T0, taskOf, told } from './telling.ts';

const at = (percent: number, time: number | null, more: Partial<TaskChange> = {}): TaskChange =>
  told({ type: 'custom', state: 'PROGRESS', time, progress: progressOf(percent), ...more });

const result = { origin: 'result', time: null, heardAt: null } as const;
const started = told({ type: 'started', time: T0, worker: 'w@h' });

describe('the progress of a task', () => {
  it('is the last one that it reported, in any order of arrival', async () => {
    for (const order of orders([started, at(10, T0 + 1), at(80, T0 + 2), at(40, T0 + 3)])) {
      expect((await taskOf(order)).progress?.percent).toBe(40);
    }
  });

  it('moves on while the backend repeats the state', async () => {
    const repeated = [10, 20, 30].map((percent, n) => at(percent, null, { ...result, heardAt: T0 + n }));
    for (const order of orders([started, ...repeated]))
      expect((await taskOf(order)).progress?.percent).toBe(30);
  });

  it('is none where nothing was reported', async () => {
    expect((await taskOf([started])).progress).toBeNull();
    expect((await taskOf([told({ type: 'custom', state: 'PACKING' })])).progress).toBeNull();
  });

  it('stays as it was last when the task ends', async () => {
    const ends = ['failed', 'succeeded', 'revoked'] as const;
    for (const type of ends) {
      const task = await taskOf([started, at(37, T0 + 1), told({ type, time: T0 + 2, worker: 'w@h' })]);
      expect(task.progress?.percent).toBe(37);
    }
  });

  it('is that of the attempt that the task is in', async () => {
    const first = [
      told({ type: 'received', time: T0, worker: 'w@h', retries: 0 }),
      at(90, T0 + 1, { worker: 'w@h', retries: 0 }),
      told({ type: 'retried', time: T0 + 2, worker: 'w@h', retries: 0 }),
      told({ type: 'received', time: T0 + 3, worker: 'w@h', retries: 1 }),
    ];
    for (const order of orders(first)) expect((await taskOf(order)).progress).toBeNull();
    const unnumbered = [
      at(90, T0 + 1, { worker: 'w@h' }),
      told({ type: 'retried', time: T0 + 2, worker: 'w@h' }),
    ];
    for (const order of orders(unnumbered)) expect((await taskOf(order)).progress).toBeNull();
    const second = at(5, T0 + 4, { worker: 'w@h', retries: 1 });
    expect((await taskOf([second, ...first])).progress?.percent).toBe(5);
  });

  it('has no secrets, packed or not', async () => {
    const progress = progressOf({ percent: 1, text: 'password=hunter2' });
    const history = historyOf([at(0, T0, { progress })], { redactor: createRedactor() });
    const read = () => history.reader.getTask('a', CONTEXT);
    expect((await read())?.progress?.text).toBe('password=***');
    await history.reader.listTasks(
      { ...(await import('./telling.ts')).query({}), search: () => true },
      CONTEXT,
    );
    expect((await read())?.progress?.text).toBe('password=***');
  });

  it('changes no answer where the same one is read again', () => {
    const stored = (heardAt: number): TaskChange =>
      at(10, null, { origin: 'result', stored: true, heardAt, worker: 'w@h' });
    const history = historyOf([started, stored(T0 + 1)]);
    const before = history.reader.freshness('tasks').revision;
    history.writer.recordTask(stored(T0 + 2));
    expect(history.reader.freshness('tasks').revision).toBe(before);
  });
});

describe('what counts as progress', () => {
  const figures = (value: unknown) => {
    const { current, total, percent, text } = progressOf(value) ?? {};
    return progressOf(value) === null ? null : [current, total, percent, text];
  };

  it.each<[unknown, unknown]>([
    [42, [null, null, 42, null]],
    ['42 %', [null, null, 42, null]],
    [250, [null, null, 100, null]],
    [{ current: 3, total: 10 }, [3, 10, 30, null]],
    [{ done: 3, total: 10, message: 'rows' }, [3, 10, 30, 'rows']],
    [{ step: 3, steps: 4 }, [3, 4, 75, null]],
    [{ percent: '12.5', description: 'x' }, [null, null, 12.5, 'x']],
    [{ pct: 1, status: 'sending' }, [null, null, 1, 'sending']],
    [{ current: 3 }, [3, null, null, null]],
    [{ total: 49.99 }, null],
    [{ text: 'working' }, null],
    [{ current: Number.POSITIVE_INFINITY, total: Number.NaN }, null],
    [{ current: '1e400' }, null],
    [{ current: [3] }, null],
    [Object.create({ percent: 5 }), [null, null, 5, null]],
    ['soon', null],
    [true, null],
    [null, null],
    [undefined, null],
    [[], null],
  ])('of %j', (value, expected) => {
    expect(figures(value)).toEqual(expected);
  });

  it('keeps no text of a million characters', () => {
    expect(progressOf({ percent: 1, text: 'x'.repeat(1_000_000) })?.text?.length).toBe(400);
    expect(progressOf('9'.repeat(1_000_000))).toBeNull();
  });
});
