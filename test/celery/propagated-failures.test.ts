import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import {
  createPropagatedFailures,
  type PropagatedFailures,
} from '../../src/sources/celery/results/propagated-failures.ts';

const FAILED: Omit<TaskChange, 'id'> = {
  ...{
    type: 'failed',
    origin: 'result',
    time: 1,
    exception: "ValueError('boom')",
    traceback: 'File "a.py", in f',
  },
};
/** Longer than a burst. */
const SETTLED = 2_000;

describe('failures that repeat the one of another task', () => {
  let propagated: PropagatedFailures;
  let known: Set<string>;
  let isDeaf: boolean;
  /** What was released: `id`, or `id!` for a task that never ran. */
  let released: string[];
  let found: string[];

  beforeEach(() => {
    vi.useFakeTimers();
    known = new Set(['b']);
    isDeaf = false;
    released = [];
    found = [];
    propagated = createPropagatedFailures({
      index: { stateOf: (id) => (known.has(id) ? 'STARTED' : null) },
      isDeaf: () => isDeaf,
      release: ({ change }) => released.push(`${change.id}${change.isConsequence === true ? '!' : ''}`),
      found: (failed, steps) => found.push([failed, ...steps].join(' ')),
    });
  });

  afterEach(() => {
    propagated.close();
    vi.useRealTimers();
  });

  const take = (id: string, more: Partial<TaskChange> = {}): boolean =>
    propagated.take({ change: { ...FAILED, id, ...more }, children: [] });

  it('are those of the steps behind it, stored from the last to the next', () => {
    expect(take('b')).toBe(false);
    expect([take('d'), take('c'), take('c')]).toEqual([true, true, true]);
    expect(released).toEqual([]);
    vi.advanceTimersByTime(SETTLED);
    expect(released).toEqual(['d!', 'c!']);
    expect(found).toEqual(['b c d']);
  });

  it('are those of steps although their failed task is heard of later than its result', () => {
    known.clear();
    take('b');
    take('c');
    propagated.heard('b');
    vi.advanceTimersByTime(SETTLED);
    expect([released, found]).toEqual([['c!'], ['b c']]);
  });

  it('are linked, too, where an extended result shows that its task never ran', () => {
    take('b', { name: 'shop.fail', worker: 'w1@a' });
    expect(take('c', { name: 'shop.add', isConsequence: true })).toBe(false);
    vi.advanceTimersByTime(SETTLED);
    expect([released, found]).toEqual([[], ['b c']]);
  });

  it('are not linked where several tasks failed in the same way', () => {
    known.add('x');
    for (const id of ['b', 'c', 'x', 'y']) take(id);
    vi.advanceTimersByTime(SETTLED);
    expect([released, found]).toEqual([['c!', 'y!'], []]);
  });

  it('are not linked where some may have been missed', () => {
    take('b');
    take('d');
    propagated.missed();
    vi.advanceTimersByTime(SETTLED);
    expect([released, found]).toEqual([['d!'], []]);
  });

  it.each<[string, () => void]>([
    ['its task is heard of after all', () => propagated.heard('c')],
    ['its task is known from elsewhere by then', () => known.add('c')],
    ['tasks may run unheard', () => (isDeaf = true)],
    ['the other task is not heard of, either', () => take('z', { parentId: 'p' })],
  ])('are taken as they are when %s', (_, arrange) => {
    take('b');
    take('c');
    arrange();
    vi.advanceTimersByTime(SETTLED);
    expect([released, found]).toEqual([['c'], []]);
  });

  it.each<[string, Partial<TaskChange>]>([
    ['that has another traceback', { traceback: 'File "b.py", in g' }],
    ['without a traceback', { traceback: null }],
    ['of a task with a parent', { parentId: 'a' }],
    ['of a task with a worker', { worker: 'w1@a', name: 'shop.add' }],
    ['of a task that was heard of', { id: 'b' }],
  ])('are not held: one %s', (_, more) => {
    take('b');
    expect(take('c', more)).toBe(false);
  });

  it('are held for seconds at most while more and more arrive', () => {
    take('b');
    for (let at = 0; at < 12; at += 1) {
      take(`c${at}`);
      vi.advanceTimersByTime(500);
    }
    expect(released.length).toBeGreaterThan(8);
  });

  it('are recognized by the lost job where there is no traceback', () => {
    const lost = {
      exception: "WorkerLostError('Worker exited prematurely: signal 9 (SIGKILL) Job: 7.')",
      traceback: null,
    };
    take('b', lost);
    expect(take('c', lost)).toBe(true);
  });
});
