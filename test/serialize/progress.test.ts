import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';

const serializer = createSerializer({ redactor: createRedactor() });
const TASK: Task = { id: 'a', state: 'PROGRESS' };

describe('a task', () => {
  it.each<[unknown, unknown]>([
    [{ percent: 130 }, { percent: 100 }],
    [{ percent: -5 }, { percent: 0 }],
    [
      { current: 1, total: 3 },
      { current: 1, total: 3, percent: 33.33 },
    ],
    [
      { current: 9, total: 3 },
      { current: 9, total: 3, percent: 100 },
    ],
    [
      { current: 9, total: 0 },
      { current: 9, total: 0 },
    ],
    [
      { current: 9, total: -1 },
      { current: 9, total: -1 },
    ],
    [{ percent: Number.NaN, text: 'x' }, { text: 'x' }],
    [{ current: '3', total: '4', percent: {}, text: 7 }, null],
    [{ text: '' }, null],
    ['half', null],
    [50, null],
    [[], null],
  ])('shows of the progress %j what can be true', (progress, shown) => {
    const nothing = { current: null, total: null, percent: null, text: null };
    const row = serializer.taskRow({ ...TASK, progress: progress as Task['progress'] & object }, 's');
    expect(row?.progress).toEqual(shown === null ? null : { ...nothing, ...(shown as object) });
  });

  it('cuts the text of a progress at 200 characters, and hides its secrets first', () => {
    const progress = (text: string) => ({ current: null, total: null, percent: 1, text });
    const textOf = (text: string) =>
      serializer.taskRow({ ...TASK, progress: progress(text) }, 's')?.progress?.text;
    expect(textOf('x'.repeat(200))).toBe('x'.repeat(200));
    expect(textOf('x'.repeat(100_000))).toBe(`${'x'.repeat(199)}…`);
    expect(textOf('password=hunter2')).toBe('password=***');
    expect(textOf(`${'x'.repeat(180)} password=hunter2hunter2hunter2`)).not.toContain('hunter2');
  });
});
