import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { HeldTask, Running } from '../../src/sources/celery/control/running.ts';
import { createTaskWatch, type TaskWatch } from '../../src/sources/celery/task-watch.ts';
import { context } from '../helpers/celery-events.ts';

const NOWHERE: Running = {
  tasks: new Map(),
  complete: ['reserved', 'active'],
  reporters: new Set(),
  askedAt: 0,
};

describe('a task that was sent', () => {
  let history: History;
  let watch: TaskWatch;
  let held: Running | null;
  let queued: boolean | null;
  let asked: number;
  let isBlind: boolean;
  let lookUp: (ids: string[]) => void;

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 2) });
    history = createMemoryHistory();
    held = NOWHERE;
    queued = false;
    asked = 0;
    isBlind = false;
    lookUp = () => {};
    watch = createTaskWatch({
      history,
      running: async () => {
        asked += 1;
        return held;
      },
      isQueued: () => queued,
      lookUp: async (ids) => lookUp(ids),
      isBlind: () => isBlind,
    });
    history.writer.recordTask({
      id: 'a',
      type: 'sent',
      time: Date.now(),
      origin: 'event',
      name: 'mail.send',
    });
  });

  afterEach(() => {
    watch.close();
    history.close();
    vi.useRealTimers();
  });

  async function flags(): Promise<readonly string[]> {
    return (await history.reader.getTask('a', context))?.flags ?? [];
  }

  it('is flagged when it is in no queue, on no worker and without a result for half a minute', async () => {
    await vi.advanceTimersByTimeAsync(25_000);
    expect(await flags()).toEqual([]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await flags()).toEqual(['never_received']);
    history.writer.recordTask({
      id: 'a',
      type: 'received',
      time: Date.now(),
      origin: 'event',
      worker: 'w1@a',
    });
    expect(await flags()).toEqual([]);
  });

  const holder: HeldTask = { worker: 'w1@a', list: 'active' };
  it.each<[string, () => void]>([
    ['waits in a queue', () => (queued = true)],
    ['may wait in a queue that is too long to be known', () => (queued = null)],
    ['is on a worker', () => (held = { ...NOWHERE, tasks: new Map([['a', holder]]) })],
    ['may be on a worker that did not answer', () => (held = { ...NOWHERE, complete: ['reserved'] })],
    ['may be on workers that cannot be asked', () => (held = null)],
    [
      'has a result',
      () => {
        lookUp = ([id = '']) =>
          history.writer.recordTask({
            id,
            type: 'succeeded',
            time: Date.now(),
            origin: 'result',
            stored: true,
          });
      },
    ],
  ])('is not flagged when it %s', async (_, arrange) => {
    arrange();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await flags()).toEqual([]);
  });

  it('makes workers be asked no more often than it is looked for', async () => {
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toBe(1);
    await vi.advanceTimersByTimeAsync(160_000);
    expect(asked).toBe(3);
    watch.askSoon();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toBe(4);
    isBlind = true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(asked).toBe(7);
  });
});
