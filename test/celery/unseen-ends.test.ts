import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
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

describe('a task that a worker has taken', () => {
  let history: History;
  let watch: TaskWatch;
  let held: Omit<Running, 'askedAt'> | null;
  let queued: boolean | null;
  let isBehind: boolean;
  let asked: number;
  let lookUp: () => void;

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 2) });
    history = createMemoryHistory();
    held = { ...NOWHERE, reporters: new Set(['w1@a']) };
    queued = false;
    isBehind = false;
    asked = 0;
    lookUp = () => {};
    watch = createTaskWatch({
      history,
      async running() {
        asked += 1;
        return held === null ? null : { ...held, askedAt: Date.now() };
      },
      isQueued: () => queued,
      lookUp: async () => lookUp(),
      isBlind: () => false,
      isBehind: () => isBehind,
    });
  });

  afterEach(() => {
    watch.close();
    history.close();
    vi.useRealTimers();
  });

  function tell(type: TaskChange['type'], more: Partial<TaskChange> = {}): void {
    history.writer.recordTask({ id: 'a', type, time: Date.now(), origin: 'event', worker: 'w1@a', ...more });
    history.writer.recordWorker({ hostname: 'w1@a', type: 'heartbeat', time: Date.now(), interval: 600 });
  }

  async function flags(): Promise<readonly string[]> {
    return (await history.reader.getTask('a', context))?.flags ?? [];
  }

  const activity = async () => (await history.reader.getActivity(context)).open;

  it.each<[string, Partial<TaskChange> & Pick<TaskChange, 'type'>]>([
    ['started', { type: 'started' }],
    ['is in a state of its own', { type: 'custom', state: 'PROGRESS' }],
    ['was received', { type: 'received' }],
    [
      'is known to have started from a stored result',
      { type: 'started', origin: 'result', stored: true, time: null },
    ],
  ])(
    'and %s has ended unseen when two replies of its worker do not have it',
    async (_, { type, ...more }) => {
      tell(type, more);
      await vi.advanceTimersByTimeAsync(19_000);
      expect(await flags()).toEqual([]);
      await vi.advanceTimersByTimeAsync(25_000);
      expect(await flags()).toEqual(['end_unseen']);
      expect((await activity()).running).toEqual([]);
    },
  );

  it('counts as running until then, and is lost no more when its worker goes', async () => {
    tell('started');
    expect((await activity()).running).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(45_000);
    history.writer.recordWorker({ hostname: 'w1@a', type: 'offline', time: Date.now() });
    expect(await flags()).toEqual(['end_unseen']);
    expect((await activity()).lost).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['its result comes', () => tell('succeeded', { origin: 'result' })],
    ['it starts again', () => tell('started')],
    ['its message is found in a queue', () => history.writer.recordFacts({ id: 'a', queue: 'celery' })],
  ])('no longer has the flag once %s', async (_, arrange) => {
    tell('started');
    await vi.advanceTimersByTimeAsync(45_000);
    expect(await flags()).toEqual(['end_unseen']);
    arrange();
    expect(await flags()).toEqual([]);
  });

  it('keeps the flag when what was stored before is read again', async () => {
    const stored = { origin: 'result', stored: true, time: null } as const;
    tell('started', stored);
    await vi.advanceTimersByTimeAsync(45_000);
    tell('started', stored);
    expect(await flags()).toEqual(['end_unseen']);
  });

  const holder: HeldTask = { worker: 'w1@a', list: 'active' };

  describe('and waits for a retry', () => {
    beforeEach(() => {
      tell('started');
      tell('retried', { time: Date.now() + 1, eta: Date.now() + 5_000 });
    });

    it('has ended unseen when its message is in no queue and no worker has it, twice', async () => {
      expect(history.index.stateOf('a')).toBe('RETRY');
      await vi.advanceTimersByTimeAsync(4_000);
      expect(await flags()).toEqual([]);
      await vi.advanceTimersByTimeAsync(40_000);
      expect(await flags()).toEqual(['end_unseen']);
      const { running, overdue } = await activity();
      expect([running, overdue]).toEqual([[], null]);
      tell('succeeded', { origin: 'result' });
      expect(await flags()).toEqual([]);
    });

    it.each<[string, () => void]>([
      ['its message waits, or is held for its eta', () => (queued = true)],
      ['queues cannot be read', () => (queued = null)],
      ['a worker did not answer', () => (held = { ...NOWHERE, complete: ['reserved'] })],
      ['a worker runs it', () => (held = { ...NOWHERE, tasks: new Map([['a', holder]]) })],
      ['its next attempt is heard of', () => setTimeout(() => tell('received', { retries: 1 }), 30_000)],
    ])('is not flagged when %s', async (_, arrange) => {
      arrange();
      await vi.advanceTimersByTimeAsync(43_000);
      expect(await flags()).not.toContain('end_unseen');
    });
  });

  it.each<[string, () => void]>([
    [
      'is in the reply',
      () => (held = { ...NOWHERE, reporters: new Set(['w1@a']), tasks: new Map([['a', holder]]) }),
    ],
    ['is on a worker that did not answer', () => (held = { ...NOWHERE, reporters: new Set(['w2@a']) })],
    ['is on a worker that cannot be asked', () => (held = null)],
    ['waits in a queue again', () => (queued = true)],
    ['may have an end among the events that wait', () => (isBehind = true)],
    ['has a stored result', () => (lookUp = () => tell('succeeded', { origin: 'result', stored: true }))],
  ])('is not flagged when it %s', async (_, arrange) => {
    tell('started');
    arrange();
    await vi.advanceTimersByTimeAsync(180_000);
    expect(await flags()).toEqual([]);
  });

  it('is not flagged when a message came between the replies', async () => {
    tell('started');
    await vi.advanceTimersByTimeAsync(22_000);
    tell('started');
    await vi.advanceTimersByTimeAsync(12_000);
    expect(await flags()).toEqual([]);
  });

  it('was only received, and may wait in a queue that cannot be read', async () => {
    queued = null;
    tell('received');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await flags()).toEqual([]);
  });

  it('makes its worker be asked less and less often while it runs', async () => {
    held = { ...NOWHERE, reporters: new Set(['w1@a']), tasks: new Map([['a', holder]]) };
    tell('started');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toBeLessThan(8);
    const before = asked;
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(asked - before).toBeLessThan(13);
  });
});
