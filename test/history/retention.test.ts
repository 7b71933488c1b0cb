import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { CONTEXT, historyOf, idsOf, page, T0, told } from './telling.ts';

const ended = (n: number, more = {}) => told({ id: `t${n}`, type: 'succeeded', time: T0 + n, ...more });
const many = (count: number, more = {}) => Array.from({ length: count }, (_, n) => ended(n, more));

describe('retention', () => {
  it('keeps 100,000 tasks unless it is told otherwise', async () => {
    const history = historyOf([]);
    for (let n = 0; n <= 100_000; n++) history.writer.recordTask(ended(n));
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({ tasks: 100_000, evicted: 1 });
    history.close();
  }, 240_000);

  it('keeps tasks for 7 days unless it is told otherwise', async () => {
    const clock = { now: T0 };
    const history = createMemoryHistory({ now: () => clock.now });
    history.writer.recordTask(ended(0));
    expect((await page(history)).total).toBe(1);
    clock.now = T0 + 7 * 86_400_000 - 60_000;
    expect((await page(history)).total).toBe(1);
    clock.now += 120_000;
    expect((await page(history)).total).toBe(0);
    history.close();
  });

  it('takes 256 MiB unless it is told otherwise', async () => {
    const MIB = 1024 * 1024;
    const history = historyOf([]);
    // Short enough to be no large value, of which less is kept.
    const text = 'x'.repeat(1_000);
    const texts = { args: text, kwargs: text, result: text, exception: text, traceback: text };
    for (let n = 0; n < 60_000; n++) history.writer.recordTask(ended(n, texts));
    const { bytes, evicted } = await history.reader.getStats(CONTEXT);
    expect(evicted).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(256 * MIB);
    expect(bytes).toBeGreaterThan(250 * MIB);
    history.close();
  }, 240_000);

  it('drops the oldest tasks above the count, whatever the order they came in', async () => {
    const history = historyOf(many(20).reverse(), { maxTasks: 5 });
    const { tasks, total } = await page(history);
    expect(idsOf(tasks)).toEqual(['t19', 't18', 't17', 't16', 't15']);
    expect(total).toBe(5);
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({
      tasks: 5,
      evicted: 15,
      eventsReceived: 20,
    });
    expect(await history.reader.getTask('t0', CONTEXT)).toBeNull();
  });

  it('drops tasks by age since they came in, as the clock goes on, whatever the sender says', async () => {
    let now = T0;
    const history = createMemoryHistory({ now: () => now, taskDays: 10_000 / 86_400_000 });
    for (const change of many(5)) history.writer.recordTask({ ...change, time: T0 - 30 * 86_400_000 });
    expect((await page(history)).total).toBe(5);
    now = T0 + 5_000;
    history.writer.recordTask(ended(2, { type: 'received', time: T0 - 29 * 86_400_000, retries: 1 }));
    for (const change of many(10).slice(5)) history.writer.recordTask(change);
    expect((await page(history)).total).toBe(10);
    const revision = history.reader.freshness('tasks').revision;
    now = T0 + 11_000;
    expect(history.reader.freshness('tasks').revision).toBeGreaterThan(revision);
    expect(idsOf((await page(history)).tasks)).toEqual(['t9', 't8', 't7', 't6', 't5', 't2']);
    now = T0 + 16_000;
    expect((await page(history)).total).toBe(0);
  });

  it('drops tasks above the bytes', async () => {
    const args = 'x'.repeat(1_000);
    const history = historyOf(many(5_000, { type: 'received', args }), { maxBytes: 1024 * 1024 });
    const { tasks, bytes, evicted } = await history.reader.getStats(CONTEXT);
    expect(bytes).toBeLessThanOrEqual(1024 * 1024);
    expect(tasks).toBeGreaterThan(600);
    expect(evicted).toBe(5_000 - tasks);
  });

  it('does not let invented names fill the memory', async () => {
    const names = Array.from({ length: 6_000 }, (_, n) =>
      ended(n, { type: 'received', name: `made.up.${n}` }),
    );
    const history = historyOf(names, { maxBytes: 2 * 1024 * 1024 });
    const { tasks, bytes } = await history.reader.getStats(CONTEXT);
    expect(bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(tasks).toBeLessThan(3_000);
    expect((await page(history, { names: ['made.up.0'] })).total).toBe(0);
    expect((await page(history, { names: ['made.up.5999'] })).total).toBe(1);
  });

  it('keeps the beginning of a large value when there is no room for all of it', async () => {
    const args = 'y'.repeat(60_000);
    const history = historyOf(many(5, { type: 'received', args }), { maxValueBytes: 250_000 });
    const cut = await history.reader.getTask('t0', CONTEXT);
    expect(cut?.truncated).toEqual(['args']);
    expect(cut?.args).toBe('y'.repeat(1024));
    const whole = await history.reader.getTask('t4', CONTEXT);
    expect(whole).toMatchObject({ truncated: [], args });
  });

  it('cuts a single value at its longest, never through a character', async () => {
    const args = `${'z'.repeat(99)}💥tail`;
    const history = historyOf([told({ type: 'received', args })], { maxValueLength: 100 });
    expect(await history.reader.getTask('a', CONTEXT)).toMatchObject({
      args: 'z'.repeat(99),
      truncated: ['args'],
    });
  });

  it('forgets everything a dropped task was found by', async () => {
    const chain = {
      type: 'received',
      name: 'lab.add',
      queue: 'q',
      worker: 'w@h',
      parentId: 'p',
      rootId: 'r',
    };
    const history = historyOf(many(50, { ...chain, groupId: 'g' }), { maxTasks: 1 });
    for (const part of [
      { names: ['lab.add'] },
      { states: ['RECEIVED'] },
      { workers: ['w@h'] },
      { queues: ['q'] },
      { rootId: 'r' },
      { parentId: 'p' },
      { groupId: 'g' },
    ]) {
      expect(idsOf((await page(history, part)).tasks), JSON.stringify(part)).toEqual(['t49']);
    }
    history.writer.recordTask(told({ id: 'new', type: 'sent', time: T0 + 999, name: 'lab.other' }));
    expect((await page(history, { names: ['lab.add'] })).total).toBe(0);
  });

  it('refuses bounds that make no sense, and says what to write', () => {
    for (const [options, message] of [
      [{ maxTasks: 0 }, /'retention\.maxTasks' must be a whole number from 1 /],
      [{ maxTasks: 1.5 }, /maxTasks/],
      [
        { taskDays: Number.NaN },
        /'retention\.taskDays' must be a number of days from 0\.0001 to 36500, such as 7; it is NaN/,
      ],
      [{ workerDays: 0 }, /workerDays/],
      [{ maxBytes: 10 }, /maxBytes' must be a whole number from 1048576/],
    ] as const) {
      expect(() => createMemoryHistory(options)).toThrow(message);
    }
  });

  it('ignores ids that nobody could ask for, and counts them', async () => {
    const history = historyOf([
      told({ id: '', type: 'sent' }),
      told({ id: 'x'.repeat(513), type: 'sent' }),
      told({ id: 7 as unknown as string, type: 'sent' }),
    ]);
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({ tasks: 0, dropped: 3 });
  });

  it('holds nothing after it is closed, and takes nothing in', async () => {
    const history = historyOf(many(3));
    history.close();
    history.close();
    history.writer.recordTask(ended(9));
    expect(await page(history)).toMatchObject({ tasks: [], total: 0 });
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({ tasks: 0, workers: 0, events: 0 });
  });
});
