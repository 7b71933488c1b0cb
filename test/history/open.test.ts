import { describe, expect, it } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { Activity } from '../../src/source.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { CONTEXT, historyOf, page, query, T0, told } from './telling.ts';

/** A history whose clock goes on by a second before each message. */
function ticking(options: MemoryHistoryOptions = {}) {
  let now = T0;
  const history = createMemoryHistory({ now: () => now, ...options });
  return {
    history,
    wait: (ms: number) => {
      now += ms;
    },
    tell: (change: Partial<TaskChange> & Pick<TaskChange, 'type'>) => {
      now += 1_000;
      history.writer.recordTask(told({ time: now, ...change }));
    },
  };
}

const openOf = (history: History, limit = 100) => history.index.listOpen(limit).map(({ id }) => id);
const waiting = (id: string): TaskChange =>
  told({ id, type: 'sent', origin: 'result', time: null, stored: true, retries: 0 });

describe('open tasks', () => {
  it('are listed with the one not heard of for longest first', () => {
    const { history, tell } = ticking();
    for (const id of ['a', 'b', 'c', 'd']) tell({ id, type: 'sent' });
    tell({ id: 'a', type: 'started', worker: 'w@h' });
    tell({ id: 'c', type: 'succeeded' });
    expect(history.index.listOpen(10)).toEqual([
      { id: 'b', state: 'PENDING', worker: null, timestamp: T0 + 2_000, heardAt: T0 + 2_000, expires: null },
      { id: 'd', state: 'PENDING', worker: null, timestamp: T0 + 4_000, heardAt: T0 + 4_000, expires: null },
      { id: 'a', state: 'STARTED', worker: 'w@h', timestamp: T0 + 5_000, heardAt: T0 + 5_000, expires: null },
    ]);
    expect(openOf(history, 1)).toEqual(['b']);
    expect(openOf(history, 0)).toEqual([]);
  });

  it('are those in any state that is no end, and again those that run once more', () => {
    const { history, tell } = ticking();
    for (const type of ['succeeded', 'failed', 'revoked', 'rejected'] as const) tell({ id: type, type });
    tell({ id: 'tentative', type: 'revoked', origin: 'result', tentative: true });
    expect(openOf(history)).toEqual([]);
    for (const type of ['received', 'started', 'retried', 'requeued', 'custom'] as const) {
      tell({ id: type, type, ...(type === 'custom' ? { state: 'PROGRESS' } : {}) });
    }
    expect(openOf(history)).toEqual(['received', 'started', 'retried', 'requeued', 'custom']);
    tell({ id: 'succeeded', type: 'received', retries: 0 });
    expect(openOf(history)).toContain('succeeded');
  });

  it('move to the end whenever something is told of them, so that each gets its turn', () => {
    const { history, tell, wait } = ticking();
    const started: TaskChange = told({
      id: 'a',
      type: 'started',
      origin: 'result',
      time: null,
      stored: true,
    });
    history.writer.recordTask(started);
    for (const id of ['b', 'c', 'd']) tell({ id, type: 'sent' });
    wait(1_000);
    history.writer.recordTask(started);
    expect(openOf(history)).toEqual(['b', 'c', 'd', 'a']);
    history.writer.recordFacts({ id: 'b' });
    expect(openOf(history)).toEqual(['c', 'd', 'a', 'b']);
    history.writer.recordMissing('c', true);
    expect(openOf(history)).toEqual(['d', 'a', 'b', 'c']);
    tell({ id: 'd', type: 'failed' });
    history.writer.recordFacts({ id: 'd' });
    history.writer.recordMissing('d', false);
    expect(openOf(history)).toEqual(['a', 'b', 'c']);
  });

  it('are found without a look at those that have ended', () => {
    const { history, tell } = ticking();
    tell({ id: 'open', type: 'started' });
    for (let n = 0; n < 50_000; n++) tell({ id: `t${n}`, type: 'succeeded' });
    const start = cpuMs();
    for (let n = 0; n < 1_000; n++) expect(openOf(history)).toEqual(['open']);
    expect(cpuMs() - start).toBeLessThan(2_000);
  });

  it('are gone when they are dropped', () => {
    const { history, tell } = ticking({ maxTasks: 2 });
    for (const id of ['a', 'b', 'c']) tell({ id, type: 'sent' });
    expect(openOf(history)).toEqual(['b', 'c']);
    history.close();
    expect(openOf(history)).toEqual([]);
  });
});

describe('the state of a task', () => {
  it('is told at once, also before anything is read', () => {
    const { history, tell } = ticking();
    expect(history.index.stateOf('a')).toBeNull();
    tell({ type: 'sent' });
    expect(history.index.stateOf('a')).toBe('PENDING');
    tell({ type: 'custom', state: 'PROGRESS' });
    expect(history.index.stateOf('a')).toBe('PROGRESS');
    history.index.listOpen(1);
    expect(history.index.stateOf('a')).toBe('PROGRESS');
  });
});

describe('a task that is missing', () => {
  const flagsOf = async (history: History) => (await page(history)).tasks[0]?.flags;

  it('is flagged while it is PENDING, until anything is told of it', async () => {
    for (const tell of [
      (history: History) => history.writer.recordTask(waiting('a')),
      (history: History) => history.writer.recordTask(told({ type: 'sent', time: T0 - 5 })),
      (history: History) => history.writer.recordTask(told({ type: 'started', worker: 'w@h' })),
      (history: History) => history.writer.recordFacts({ id: 'a', queue: 'celery' }),
      (history: History) => history.writer.recordMissing('a', false),
    ]) {
      const history = historyOf([told({ type: 'sent', time: T0 - 5 }), waiting('a')]);
      expect(await flagsOf(history)).toEqual([]);
      const before = history.reader.freshness('tasks').revision;
      history.writer.recordMissing('a', true);
      const flagged = history.reader.freshness('tasks').revision;
      expect(flagged).toBeGreaterThan(before);
      expect(await flagsOf(history)).toEqual(['never_received']);
      history.writer.recordMissing('a', true);
      expect(history.reader.freshness('tasks').revision).toBe(flagged);
      tell(history);
      expect(history.reader.freshness('tasks').revision).toBeGreaterThan(flagged);
      expect(await flagsOf(history)).toEqual([]);
    }
  });

  it('is not flagged in another state, nor one that is not known', async () => {
    const history = historyOf([told({ type: 'started', worker: 'w@h' })]);
    const before = history.reader.freshness('tasks').revision;
    history.writer.recordMissing('a', true);
    history.writer.recordMissing('nobody', true);
    history.writer.recordMissing('nobody', false);
    expect(history.reader.freshness('tasks').revision).toBe(before);
    expect(await flagsOf(history)).toEqual([]);
    expect(await history.reader.getTask('nobody', CONTEXT)).toBeNull();
  });
});

describe('what would be kept', () => {
  it('is anything within the age while there is room', () => {
    const { history, tell } = ticking({ taskDays: 10_000 / 86_400_000, maxTasks: 3 });
    tell({ id: 'a', type: 'succeeded' });
    expect(history.index.wouldKeep(T0 - 8_000)).toBe(true);
    expect(history.index.wouldKeep(T0 - 9_001)).toBe(false);
  });

  it('is nothing older than the oldest task when there is no room', () => {
    const { history, tell } = ticking({ maxTasks: 3 });
    for (const id of ['a', 'b', 'c', 'd']) tell({ id, type: 'succeeded' });
    expect(history.index.wouldKeep(T0 + 1_999)).toBe(false);
    expect(history.index.wouldKeep(T0 + 2_000)).toBe(true);
  });

  it('is told by the oldest also when it waits in a queue, of which nobody knows since when', () => {
    const { history, tell, wait } = ticking({ maxTasks: 2 });
    history.writer.recordTask(waiting('q'));
    expect(openOf(history)).toEqual(['q']);
    wait(10_000);
    tell({ id: 'a', type: 'succeeded' });
    expect(history.index.wouldKeep(T0 - 1)).toBe(false);
    expect(history.index.wouldKeep(T0 + 1)).toBe(true);
  });
});

describe('tasks known from their queue alone', () => {
  it('do not push out everything that comes later', async () => {
    const { history, wait } = ticking({ maxTasks: 10 });
    for (let n = 0; n < 10; n++) history.writer.recordTask(waiting(`q${n}`));
    expect((await page(history)).total).toBe(10);
    wait(1_000);
    for (let n = 0; n < 6; n++)
      history.writer.recordTask(told({ id: `t${n}`, type: 'succeeded', time: T0 + 500 + n }));
    wait(1_000);
    const ids = async () => (await page(history)).tasks.map(({ id }) => id);
    expect(await ids()).toEqual(['t5', 't4', 't3', 't2', 't1', 't0', 'q6', 'q7', 'q8', 'q9']);
    for (let n = 0; n < 2; n++) history.writer.recordTask(waiting(`q${n}`));
    expect(await ids()).toEqual(['t5', 't4', 't3', 't2', 't1', 't0', 'q0', 'q1', 'q8', 'q9']);
  });
});

describe('a task whose end was not seen', () => {
  it('is no longer listed as open, until something is told of it', async () => {
    const history = historyOf([told({ type: 'started', worker: 'w@h' })]);
    history.writer.recordEndUnseen('a', true);
    expect(openOf(history)).toEqual([]);
    expect(history.index.openTask('a')).toBeNull();
    expect((await page(history)).tasks[0]).toMatchObject({ state: 'STARTED', flags: ['end_unseen'] });
    history.writer.recordEndUnseen('a', false);
    expect(openOf(history)).toEqual(['a']);
    expect(history.index.openTask('a')).toMatchObject({ id: 'a', state: 'STARTED' });
    history.writer.recordEndUnseen('a', true);
    history.writer.recordTask(told({ type: 'started', worker: 'w@h', time: T0 + 5 }));
    expect(openOf(history)).toEqual(['a']);
  });

  it.each(['sent', 'succeeded'] as const)(
    'was taken by a worker: one that was %s is not flagged',
    async (type) => {
      const history = historyOf([told({ type, worker: 'w@h' })]);
      const before = history.reader.freshness('tasks').revision;
      history.writer.recordEndUnseen('a', true);
      history.writer.recordEndUnseen('nobody', true);
      expect(history.reader.freshness('tasks').revision).toBe(before);
      expect((await page(history)).tasks[0]?.flags).toEqual([]);
    },
  );

  it('may be one that waited for a retry', async () => {
    const history = historyOf([told({ type: 'retried', worker: 'w@h' })]);
    history.writer.recordEndUnseen('a', true);
    expect(openOf(history)).toEqual([]);
    expect((await page(history)).tasks[0]).toMatchObject({ state: 'RETRY', flags: ['end_unseen'] });
  });

  it('is in no state of the statistics', async () => {
    const history = historyOf([told({ id: 'a', type: 'started' }), told({ id: 'b', type: 'started' })]);
    history.writer.recordEndUnseen('a', true);
    const asked = { minutes: 60, now: new Date(T0 + 60_000), filter: query({}) };
    expect((await history.reader.getTaskStats(asked, CONTEXT)).states).toEqual({ STARTED: 1 });
  });
});

const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;

/** A history that began at T0 and whose clock can be moved. */
function historyAt(minute: number): {
  history: History;
  moveTo(minute: number): void;
  open(): Promise<Activity>;
} {
  let now = T0;
  const history = createMemoryHistory({ now: () => now });
  now = at(minute);
  return {
    history,
    moveTo(next) {
      now = at(next);
    },
    open: async () => await history.reader.getActivity(CONTEXT),
  };
}

describe('the summary of open tasks', () => {
  it('lists what runs, longest first, custom states by their start', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordTask(told({ id: 'b', type: 'started', name: 'n', worker: 'w', time: at(2) }));
    writer.recordTask(told({ id: 'a', type: 'started', name: 'm', worker: 'w', time: at(1) }));
    writer.recordTask(told({ id: 'a', type: 'custom', state: 'PROGRESS', worker: 'w', time: at(5) }));
    writer.recordTask(told({ id: 'c', type: 'started', worker: 'w', time: at(1) }));
    writer.recordTask(told({ id: 'c', type: 'succeeded', worker: 'w', time: at(2) }));
    const { running, isWhole } = (await open()).open;
    expect(running).toEqual([
      { id: 'a', name: 'm', worker: 'w', startedAt: at(1), state: 'PROGRESS' },
      { id: 'b', name: 'n', worker: 'w', startedAt: at(2) },
    ]);
    expect(isWhole).toBe(true);
  });

  it('has a start that was only read since then, none that is not known, and names what is known', async () => {
    const { history, open } = historyAt(10);
    const read = { origin: 'result', time: null, stored: true } as const;
    history.writer.recordTask(told({ ...read, id: 'read', type: 'started' }));
    history.writer.recordTask(told({ id: 'custom', type: 'custom', state: 'PROGRESS', time: at(1) }));
    expect((await open()).open.running).toEqual([
      { id: 'read', name: null, worker: null, startedAt: at(10) },
    ]);
  });

  it('lists 2,000 that run, and says that there are more', async () => {
    const { history, open } = historyAt(10);
    const run = (id: string, minute: number) =>
      history.writer.recordTask(told({ id, type: 'started', time: at(minute) }));
    for (let n = 0; n < 2_000; n++) run(`t${n}`, 2);
    const some = async () => {
      const { running, isWhole } = (await open()).open;
      return { first: running[0]?.id, count: running.length, isWhole };
    };
    expect(await some()).toEqual({ first: 't0', count: 2_000, isWhole: true });
    run('long', 1);
    history.writer.recordTask(told({ id: 'long', type: 'custom', state: 'PROGRESS', time: at(3) }));
    expect(await some()).toEqual({ first: 'long', count: 2_000, isWhole: false });
    history.writer.recordTask(told({ id: 'long', type: 'succeeded', time: at(4) }));
    run('other', 3);
    expect(await some()).toEqual({ first: 't0', count: 2_000, isWhole: false });
  });

  it('counts what a worker has not begun by its eta as overdue, and not as running', async () => {
    const { history, moveTo, open } = historyAt(0);
    history.writer.recordTask(
      told({ id: 'held', type: 'received', worker: 'there', time: at(0), eta: at(5) }),
    );
    history.writer.recordTask(
      told({ id: 'runs', type: 'started', worker: 'there', time: at(0), eta: at(5) }),
    );
    moveTo(10);
    const { running, overdue } = (await open()).open;
    expect(running.map(({ id }) => id)).toEqual(['runs']);
    expect(overdue).toEqual({ count: 1, since: at(5), states: ['RECEIVED'], examples: ['held'] });
  });

  it('counts retries that wait on a worker as overdue, and as lost with it', async () => {
    const { history, moveTo, open } = historyAt(0);
    const by = { worker: 'gone' };
    for (const id of ['waits', 'not there yet']) {
      history.writer.recordTask(told({ id, ...by, type: 'received', retries: 0, time: at(0), eta: at(0) }));
      history.writer.recordTask(told({ id, ...by, type: 'started', time: at(0) + 1 }));
      history.writer.recordTask(told({ id, ...by, type: 'retried', time: at(0) + 2 }));
    }
    const next = told({ id: 'waits', ...by, type: 'received', retries: 1, time: at(0) + 3, eta: at(5) });
    history.writer.recordTask(next);
    expect((await open()).open).toMatchObject({ running: [], overdue: null, lost: [] });
    moveTo(30);
    const { overdue, lost } = (await open()).open;
    expect(overdue).toEqual({ count: 1, since: at(5), states: ['RETRY'], examples: ['waits'] });
    expect(lost).toMatchObject([{ worker: 'gone', count: 1, states: ['RETRY'], examples: ['waits'] }]);
  });

  it('counts every lost task, however many, by worker', async () => {
    const { history, moveTo, open } = historyAt(0);
    for (let id = 0; id < 5_000; id++) {
      const worker = id < 3_000 ? 'gone' : 'there';
      history.writer.recordTask(told({ id: String(id), type: 'received', worker, time: at(0) + id }));
    }
    moveTo(30);
    history.writer.recordWorker({ hostname: 'there', type: 'heartbeat', time: at(30) });
    const { lost } = (await open()).open;
    expect(lost).toEqual([
      {
        worker: 'gone',
        isWorkerOnline: false,
        count: 3_000,
        since: at(0),
        states: ['RECEIVED'],
        examples: ['0', '1', '2'],
      },
    ]);
  });

  it('counts tasks of the former process of a worker that is online again, but none that it has touched since', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordWorker({ hostname: 'w', type: 'online', time: at(0), pid: 1 });
    writer.recordTask(told({ id: 'old', type: 'started', worker: 'w', time: at(1) }));
    writer.recordWorker({ hostname: 'w', type: 'online', time: at(5), pid: 2 });
    writer.recordTask(told({ id: 'new', type: 'received', worker: 'w', time: at(6) }));
    expect((await open()).open.lost).toMatchObject([
      { worker: 'w', isWorkerOnline: true, count: 1, examples: ['old'] },
    ]);
    writer.recordTask(told({ id: 'old', type: 'custom', state: 'PROGRESS', worker: 'w', time: at(7) }));
    expect((await open()).open.lost).toEqual([]);
  });

  it('counts what waits by queue since it could start, or was found there, and not what waits for its eta', async () => {
    const { history, open } = historyAt(10);
    const { writer } = history;
    writer.recordTask(told({ id: '1', type: 'sent', queue: 'q', time: at(1), eta: at(4) }));
    writer.recordTask(told({ id: '2', type: 'sent', queue: 'q', time: at(6), eta: at(10) }));
    writer.recordTask(told({ id: '3', type: 'sent', queue: 'q', time: at(0), eta: at(60) }));
    writer.recordTask(told({ id: '4', type: 'sent', queue: 'r', time: at(3) }));
    writer.recordTask(told({ id: '4', type: 'received', worker: 'w', time: at(4) }));
    writer.recordTask({ ...waiting('5'), queue: 's', heardAt: at(9) });
    const { waiting: queues, overdue } = (await open()).open;
    expect(queues).toEqual([
      { queue: 'q', count: 2, since: at(4), states: ['PENDING'], examples: ['1', '2'] },
      { queue: 's', count: 1, since: at(9), states: ['PENDING'], examples: ['5'] },
    ]);
    expect(overdue).toEqual({ count: 2, since: at(4), states: ['PENDING'], examples: ['1', '2'] });
  });

  it('counts no task that has ended unseen, and none as lost whose worker is not known', async () => {
    const { history, moveTo, open } = historyAt(1);
    const { writer } = history;
    for (const id of ['runs', 'waits'])
      writer.recordTask(told({ id, type: 'started', worker: 'w', time: at(0) }));
    writer.recordTask(told({ id: 'waits', type: 'retried', worker: 'w', time: at(1) }));
    writer.recordTask(
      told({ id: 'waits', type: 'received', worker: 'w', time: at(1), retries: 1, eta: at(5) }),
    );
    for (const id of ['runs', 'waits']) writer.recordEndUnseen(id, true);
    writer.recordTask(told({ id: 'somewhere', type: 'started', time: at(0) }));
    moveTo(20);
    expect((await open()).open).toMatchObject({
      running: [{ id: 'somewhere' }],
      ...{ lost: [], overdue: null, missing: null },
    });
  });

  it('counts what was sent and is nowhere apart, for an hour', async () => {
    const { history, moveTo, open } = historyAt(10);
    const groups = async () => {
      const { waiting, overdue, missing } = (await open()).open;
      return { waiting, overdue, missing };
    };
    const sent = told({ id: '1', type: 'sent', queue: 'q', time: at(1), eta: at(2) });
    history.writer.recordTask(sent);
    history.writer.recordTask({ ...sent, id: '2', queue: null });
    history.writer.recordMissing('1', true);
    expect(await groups()).toEqual({
      waiting: [],
      overdue: { count: 1, since: at(2), states: ['PENDING'], examples: ['2'] },
      missing: { count: 1, since: at(1), states: ['PENDING'], examples: ['1'] },
    });
    // Nothing else ends it, if it was purged on purpose: after an hour, it is no longer reported.
    moveTo(70 - 0.001);
    expect((await groups()).missing).toMatchObject({ count: 1 });
    moveTo(70);
    expect((await groups()).missing).toBeNull();
  });

  it('names workers that fell silent, and none that said goodbye', async () => {
    const { history, moveTo, open } = historyAt(0);
    for (const hostname of ['silent', 'closed'])
      history.writer.recordWorker({ hostname, type: 'online', time: at(0) });
    history.writer.recordWorker({ hostname: 'closed', type: 'offline', time: at(0) + 1 });
    moveTo(5);
    expect((await open()).silent).toEqual([{ hostname: 'silent', heardAt: at(0) }]);
  });

  it('says since when everything was heard, but for moments', async () => {
    const { history, moveTo, open } = historyAt(0);
    expect((await open()).since).toBe(T0);
    for (const [from, to] of [
      [5, 9],
      [20, 20.1],
    ] as const) {
      moveTo(from);
      history.writer.freezeAt(new Date(at(from)));
      moveTo(to);
      history.writer.freezeAt(null);
    }
    expect((await open()).since).toBe(at(9));
  });
});
