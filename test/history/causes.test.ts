import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { createRedactor } from '../../src/redact.ts';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, historyOf, idsOf, page, query, T0, told } from './telling.ts';

const NOW = T0 + 60_000;

/** A Python traceback that ends in a function of a file. */
const traceback = (file: string, name: string): string =>
  `Traceback (most recent call last):\n  File "/app/${file}", line 7, in ${name}\n    raise error\nError: no`;

const failed = (id: string, more: Partial<TaskChange> = {}): TaskChange =>
  told({ id, type: 'failed', exception: "ValueError('no')", worker: 'w@1', ...more });

async function statsOf(history: History, causes = 50): Promise<TaskStats> {
  const asked = { minutes: 60, now: new Date(NOW), causes, filter: query() };
  return await history.reader.getTaskStats(asked, CONTEXT);
}

describe('causes of failures', () => {
  it('are three for 10,000 failures with three causes', async () => {
    const texts = [
      (n: number) => `ValueError('Order ${n} has no items')`,
      (n: number) => `ConnectionError('10.0.0.${n % 250}:6379 refused the connection')`,
      (n: number) => `shop.Declined: card of 'customer ${n}'`,
    ];
    const changes = Array.from({ length: 10_000 }, (_, n) =>
      failed(`t${n}`, { name: `shop.${n % 3}`, time: T0 + n, exception: texts[n % 3]?.(n) ?? '' }),
    );
    const history = historyOf(changes, { now: () => NOW });
    const stats = await statsOf(history);
    expect(stats.causesTruncated).toBe(false);
    expect(stats.causes).toMatchObject([
      { exception: 'ValueError', count: 3_334, names: ['shop.0'], workers: ['w@1'], sample: 't9999' },
      { count: 3_333 },
      { count: 3_333 },
    ]);
    for (const { id, count, firstSeen, lastSeen, activity } of stats.causes ?? []) {
      const rows = await page(history, { causes: [id], limit: 1_000 });
      expect(rows.total).toBe(count);
      expect(new Set(rows.tasks.map(({ cause }) => cause?.id))).toEqual(new Set([id]));
      expect(activity.reduce((sum, at) => sum + at, 0)).toBe(count);
      expect(Number(lastSeen)).toBeGreaterThan(Number(firstSeen));
    }
    history.close();
  });

  it('tell places apart, and not the values of one place', async () => {
    const places = { pay: ['a', 'b'], refund: ['c'] };
    const changes = Object.entries(places).flatMap(([name, keys]) =>
      keys.map((key) =>
        failed(key, { exception: `KeyError('${key}')`, traceback: traceback('shop.py', name) }),
      ),
    );
    const { causes } = await statsOf(historyOf(changes));
    expect(causes).toMatchObject([
      { count: 2, frame: 'shop.py in pay', message: '<value>' },
      { count: 1, frame: 'shop.py in refund' },
    ]);
  });

  it('are listed up to the number asked for, and of no more than were asked for', async () => {
    const words = ['a', 'b', 'c', 'd'].flatMap((one) => ['x', 'y', 'z'].map((other) => one + other));
    const history = historyOf(words.map((word) => failed(word, { exception: `ValueError('${word} no')` })));
    const { causes, causesTruncated } = await statsOf(history, 5);
    expect(causes).toHaveLength(5);
    expect(causesTruncated).toBe(true);
    expect(await statsOf(history, 12)).toMatchObject({ causesTruncated: false });
    expect(await statsOf(history, 0)).not.toHaveProperty('causes');
  });

  it('are those of failures alone: not of retries, nor of tasks that failed because of another', async () => {
    const history = historyOf([
      told({ id: 'again', type: 'retried', exception: "ValueError('no')" }),
      told({
        id: 'later',
        type: 'failed',
        exception: "ValueError('no')",
        origin: 'result',
        isConsequence: true,
      }),
      failed('own'),
      told({ id: 'fine', type: 'succeeded', result: '1' }),
    ]);
    const { tasks } = await page(history);
    const causes = Object.fromEntries(tasks.map(({ id, cause }) => [id, cause?.exception ?? null]));
    expect(causes).toEqual({ again: null, later: null, own: 'ValueError', fine: null });
    const flags = Object.fromEntries(tasks.map((task) => [task.id, task.flags]));
    expect(flags).toEqual({ again: [], later: ['consequence'], own: [], fine: [] });
    expect((await statsOf(history)).causes).toMatchObject([{ count: 1, sample: 'own' }]);
  });

  it('follow the texts that a task has in the end', async () => {
    const history = historyOf([failed('a', { origin: 'result', exception: "ValueError('stored')" })]);
    const [before] = (await page(history)).tasks;
    history.writer.recordTask(failed('a', { exception: "TypeError('told')" }));
    const [after] = (await page(history)).tasks;
    expect([before?.cause?.exception, after?.cause?.exception]).toEqual(['ValueError', 'TypeError']);
    expect(idsOf((await page(history, { causes: [before?.cause?.id ?? ''] })).tasks)).toEqual([]);
    expect(idsOf((await page(history, { causes: [after?.cause?.id ?? ''] })).tasks)).toEqual(['a']);
  });

  it('stay when only the beginning of a long traceback is held', async () => {
    const long = `${'  File "/app/deep.py", line 1, in again\n'.repeat(200)}${traceback('shop.py', 'pay')}`;
    const history = historyOf([failed('a', { traceback: long })], { maxValueBytes: 0 });
    const [before] = (await page(history)).tasks;
    history.writer.recordTask(told({ type: 'started', time: T0 - 5 }));
    const [after] = (await page(history)).tasks;
    expect(before?.cause?.frame).toBe('shop.py in pay');
    expect(after?.cause).toEqual(before?.cause);
  });

  it('are one where only a secret differs, in words that do not tell it', async () => {
    const redactor = createRedactor();
    const secrets = ['hunter2', 'swordfish-and-more'];
    const history = historyOf(
      secrets.map((secret) => failed(secret.slice(0, 3), { exception: `LoginError('password=${secret}')` })),
      { redactor },
    );
    const { causes } = await statsOf(history);
    expect(causes).toMatchObject([{ count: 2 }]);
    for (const secret of secrets) expect(JSON.stringify(causes)).not.toContain(secret);
  });

  it('are new where the first one ever was in the window, and enough is known of before', async () => {
    let now = T0 - 3_600_000;
    const history = createMemoryHistory({ now: () => now, maxTasks: 2 });
    const at = async (id: string, time: number, exception: string): Promise<void> => {
      now = time;
      history.writer.recordTask(failed(id, { time, exception }));
      await page(history);
    };
    const isNew = async (minutes: number) => {
      const asked = { minutes, now: new Date(NOW), causes: 9, filter: query() };
      const { causes = [] } = await history.reader.getTaskStats(asked, CONTEXT);
      return Object.fromEntries(causes.map((cause) => [cause.message, cause.isNew]));
    };
    await at('old', T0 - 1_800_000, "E('old one')");
    await at('old again', T0, "E('old one')");
    await at('new', T0 + 1, "E('new one')");
    now = NOW;
    // The first failure with the old cause is no longer held.
    expect(await isNew(5)).toEqual({ 'old one': false, 'new one': true });
    // The history had begun half an hour before the old one was seen first, and an hour before the new one.
    expect(await isNew(29)).toEqual({ 'old one': false, 'new one': true });
    expect(await isNew(45)).toEqual({ 'old one': null, 'new one': true });
    // It begins just before the window, or in it.
    expect(await isNew(59)).toEqual({ 'old one': null, 'new one': true });
    expect(await isNew(600)).toEqual({ 'old one': null, 'new one': null });
  });

  it('do not depend on the order of arrival', async () => {
    const change = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      at: fc.integer({ min: 0, max: 9 }),
      type: fc.constantFrom('received' as const, 'failed' as const, 'retried' as const),
      text: fc.constantFrom("E('one')", "E('two')", 'three 3', 'three 4'),
      place: fc.constantFrom('pay', 'refund'),
      isResult: fc.boolean(),
    });
    const changes = fc.uniqueArray(change, { selector: ({ id, at }) => `${id}${at}`, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(changes, fc.array(fc.nat()), async (all, keys) => {
        const told_ = all.map(({ id, at, type, text, place, isResult }) =>
          told({
            ...{ id, type, time: T0 + at, worker: `w@${at % 2}`, name: id },
            ...(type !== 'received' && { exception: text, traceback: traceback('shop.py', place) }),
            ...(isResult && type === 'failed' && { origin: 'result' as const }),
          }),
        );
        const shuffled = told_
          .map((one, at) => ({ one, key: keys[at] ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const [a, b] = [historyOf(told_), historyOf(shuffled)];
        expect((await statsOf(b)).causes).toEqual((await statsOf(a)).causes);
        a.close();
        b.close();
      }),
    );
  });
});
