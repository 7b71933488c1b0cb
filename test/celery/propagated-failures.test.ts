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
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
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

  /** Ends the burst. In a turn of the event loop that has no time left, results are released in later ones. */
  async function settle(): Promise<void> {
    vi.advanceTimersByTime(SETTLED);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  const take = (id: string, more: Partial<TaskChange> = {}): boolean =>
    propagated.take({ change: { ...FAILED, id, ...more }, children: [] });

  it('are those of the steps behind it, stored from the last to the next', async () => {
    expect(take('b')).toBe(false);
    expect([take('d'), take('c'), take('c')]).toEqual([true, true, true]);
    expect(released).toEqual([]);
    await settle();
    expect(released).toEqual(['d!', 'c!']);
    expect(found).toEqual(['b c d']);
  });

  it('are those of steps although their failed task is heard of later than its result', async () => {
    known.clear();
    take('b');
    take('c');
    propagated.heard('b');
    await settle();
    expect([released, found]).toEqual([['c!'], ['b c']]);
  });

  it('are linked, too, where an extended result shows that its task never ran', async () => {
    take('b', { name: 'shop.fail', worker: 'w1@a' });
    expect(take('c', { name: 'shop.add', isConsequence: true })).toBe(false);
    await settle();
    expect([released, found]).toEqual([[], ['b c']]);
  });

  it('are not linked where several tasks failed in the same way', async () => {
    known.add('x');
    for (const id of ['b', 'c', 'x', 'y']) take(id);
    await settle();
    expect([released, found]).toEqual([['c!', 'y!'], []]);
  });

  it('are not linked where some may have been missed', async () => {
    take('b');
    take('d');
    propagated.missed();
    await settle();
    expect([released, found]).toEqual([['d!'], []]);
  });

  it.each<[string, () => void]>([
    ['its task is heard of after all', () => propagated.heard('c')],
    ['its task is known from elsewhere by then', () => known.add('c')],
    ['tasks may run unheard', () => (isDeaf = true)],
    ['the other task is not heard of, either', () => take('z', { parentId: 'p' })],
  ])('are taken as they are when %s', async (_, arrange) => {
    take('b');
    take('c');
    arrange();
    await settle();
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

  it('are not held beyond a bound, and none is lost', async () => {
    const traceback = 'x'.repeat(64 * 1024);
    const ids = Array.from({ length: 200 }, (_, at) => `c${at}`);
    take('b', { traceback });
    const held = ids.filter((id) => take(id, { traceback }));
    expect(held.length).toBeGreaterThan(50);
    expect(held.length).toBeLessThan(65);
    await settle();
    expect(released.map((id) => id.replace('!', ''))).toEqual(held);
    expect(found).toEqual([]);
    // What was released has made room.
    take('b', { traceback });
    expect(take('c', { traceback })).toBe(true);
  });

  it('are held up to a number for each failed task', () => {
    take('b');
    const held = Array.from({ length: 2_000 }, (_, at) => take(`c${at}`)).filter((isHeld) => isHeld);
    expect(held).toHaveLength(499);
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
