import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createRedactor } from '../../src/redact.ts';
import { done, sent, started, tapped } from './kept.ts';
import { CONTEXT, T0, told } from './telling.ts';

const LONG = `password='secret-1' ${'x'.repeat(3_000)}`;
const failed = told({
  type: 'failed',
  time: T0 + 20,
  exception: 'password=secret-2',
  traceback: 'token=secret-3',
});

const TASKS: readonly (readonly TaskChange[])[] = [
  [sent, started, done],
  [
    { ...sent, args: LONG, kwargs: '{"token": "secret-4"}', rootId: 'r', parentId: 'p', groupId: 'g' },
    failed,
  ],
  [
    { ...sent, stamps: { password: 'secret-5' }, truncated: ['args'] },
    { ...failed, detail: 'pwd=secret-6' },
  ],
  [
    { ...sent, kwargs: "password='x'" },
    told({ type: 'custom', state: 'P', time: T0, detail: 'token=secret-7' }),
  ],
];

/** Counts the texts that are redacted. */
function counting() {
  const inner = createRedactor({});
  const texts: string[] = [];
  const text: typeof inner.text = (...args) => {
    texts.push(args[0]);
    return inner.text(...args);
  };
  return { redactor: { ...inner, text }, texts };
}

describe('a task that is read once memory has dropped it', () => {
  const limits = [{}, { maxValueLength: 2_000 }, { maxValueBytes: 0 }];

  it.each(limits)('is what it was before, without secrets: %o', async (bounds) => {
    for (const isShown of [false, true]) {
      for (const changes of TASKS) {
        const { redactor, texts } = counting();
        const { history, access } = tapped(changes, { ...bounds, redactor });
        // Some of its texts may have been redacted before.
        if (isShown) await history.reader.getTask('a', CONTEXT);
        texts.length = 0;
        const detached = access.detachTask('a');
        expect(texts).toEqual([]);
        const expected = access.readTask('a');
        history.close();
        expect(access.readTask('a')).toBeNull();
        expect(detached?.read()).toEqual(expected);
        expect(JSON.stringify(detached?.read())).not.toContain('secret');
        expect(detached?.parentId).toBe(expected?.record.parentId);
      }
    }
  });

  it('is not redacted where nothing is, and what has just changed is taken along', () => {
    const { history, access } = tapped([sent]);
    history.writer.recordTask(done);
    const detached = access.detachTask('a');
    const expected = access.readTask('a');
    history.close();
    expect(detached?.read()).toEqual(expected);
    expect(detached?.read().record.entries).toHaveLength(2);
    expect(access.detachTask('a')).toBeNull();
  });
});
