import { describe, expect, it } from 'vitest';
import { type MemorySourcesOptions, memorySources } from '../../src/memory.ts';
import type { Schedule, Task } from '../../src/model.ts';
import type { TaskEventPage, TaskPage } from '../../src/source.ts';
import { CONTEXT, query, T0 } from '../history/telling.ts';
import { itKeepsTheContract, partsWithout } from '../testing/contract-parts.ts';
import { recordLife } from './record-life.ts';

const SCHEDULES: readonly Schedule[] = [
  { id: 'nightly', name: 'nightly', schedule: '30 2 * * * (m/h/dM/MY/d)' },
];

describe('the contract of sources', () => {
  const parts = partsWithout('queues', 'components');
  const create = () => {
    const sources = memorySources({ schedules: SCHEDULES });
    const seed = (tasks: readonly Task[]) => {
      for (const task of tasks) recordLife(sources, task);
    };
    return { sources, seed };
  };
  itKeepsTheContract({ parts, create });
});

function recording(options: MemorySourcesOptions = {}) {
  const errors: TypeError[] = [];
  const sources = memorySources({ now: () => T0, onError: (error) => errors.push(error), ...options });
  const tasks = async (): Promise<readonly Task[]> =>
    ((await sources.tasks.listTasks(query(), CONTEXT)) as TaskPage).tasks;
  return { sources, errors, tasks };
}

describe('memory sources', () => {
  it('read back what was recorded', async () => {
    const { sources, tasks } = recording();
    sources.record({
      id: '1',
      state: 'PENDING',
      name: 'mail.send',
      queue: 'mail',
      args: ['ann', 7n],
      eta: T0 + 5,
    });
    sources.record({ id: '1', state: 'STARTED', worker: 'mailer@h', timestamp: new Date(T0 + 10) });
    expect(await tasks()).toMatchObject([
      {
        id: '1',
        state: 'STARTED',
        name: 'mail.send',
        queue: 'mail',
        worker: 'mailer@h',
        args: '["ann","7"]',
        sent: new Date(T0),
        started: new Date(T0 + 10),
        eta: new Date(T0 + 5),
      },
    ]);
  });

  it('take an error as exception and traceback, and a state of the host as it is', async () => {
    const { sources, tasks } = recording();
    sources.record({ id: '1', state: 'FAILURE', error: new RangeError('too far') });
    sources.record({ id: '2', state: 'uploading', detail: '3 of 4' });
    const [first, second] = await tasks();
    expect(first).toMatchObject({ exception: 'RangeError: too far' });
    expect(String(first?.traceback)).toContain('memory-sources.test.ts');
    expect(second?.state).toBe('uploading');
    const feed = (await sources.events.listEvents(
      { limit: 1, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    )) as TaskEventPage;
    expect(feed.events[0]).toMatchObject({ type: 'task-uploading', state: 'uploading', detail: '3 of 4' });
  });

  it('know a name that only a later record gives', async () => {
    const { sources, tasks } = recording();
    sources.record({ id: '1', state: 'STARTED', name: 'late.name', args: '(1,)', queue: 'q' });
    expect(await tasks()).toMatchObject([{ name: 'late.name', args: '(1,)', queue: 'q' }]);
  });

  it('know workers by what they say', async () => {
    const { sources } = recording();
    sources.recordWorker({ hostname: 'w@h', active: 2, pid: 12, pool: 'threads' });
    expect(await sources.workers.listWorkers(CONTEXT)).toMatchObject([
      { hostname: 'w@h', status: 'online', active: 2, pid: 12, pool: 'threads' },
    ]);
    const check = { ...CONTEXT, ping: false };
    expect(await sources.health.checkWorkers?.(check)).toMatchObject({ ok: true, responding: ['w@h'] });
    sources.recordWorker({ hostname: 'w@h', type: 'offline', timestamp: T0 + 1 });
    expect(await sources.health.checkWorkers?.(check)).toMatchObject({ ok: null, responding: [] });
  });

  it('know how much waits in a queue, and since when it grows', async () => {
    const clock = { now: T0 };
    const { sources } = recording({ now: () => clock.now });
    for (const minute of Array.from({ length: 13 }, (_, index) => index)) {
      clock.now = T0 + minute * 60_000;
      const waiting = minute < 3 ? 0 : (minute - 2) * 10;
      sources.recordQueue({
        queue: 'mail',
        waiting,
        oldestDueAt: minute < 3 ? null : new Date(T0 + 180_000),
      });
    }
    const stats = await sources.tasks.getTaskStats?.(
      { minutes: 15, stepSeconds: 60, now: new Date(clock.now), filter: query() },
      CONTEXT,
    );
    const [mail] = stats?.queueDepths ?? [];
    expect(mail?.waiting.slice(-4)).toEqual([70, 80, 90, 100]);
    expect(mail?.oldestSeconds.at(-1)).toBe(540);
    expect(mail?.growingSince?.getTime()).toBeLessThanOrEqual(T0 + 180_000);
  });

  it('never throw at a record that cannot be read: they say what to write, count it and go on', async () => {
    const { sources, errors, tasks } = recording();
    for (const record of [
      undefined,
      null,
      7,
      {},
      { id: '' },
      { id: 'x'.repeat(513), state: 'STARTED' },
      { id: '1' },
      { id: '1', state: 7 },
      { id: '1', state: 'STARTED', timestamp: 'yesterday' },
      { id: '1', state: 'STARTED', eta: new Date(Number.NaN) },
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ]) {
      expect(() => sources.record(record as never)).not.toThrow();
    }
    expect(() => sources.recordWorker({} as never)).not.toThrow();
    expect(() => sources.recordQueue({ queue: 'mail', waiting: -1 })).not.toThrow();
    expect(errors).toHaveLength(13);
    expect(errors.every((error) => error instanceof TypeError && error.message.length > 10)).toBe(true);
    expect(errors[6]?.message).toMatch(/state/);
    expect(await tasks()).toEqual([]);
    expect(await sources.history.getHistoryStats(CONTEXT)).toMatchObject({ dropped: 13 });
  });

  it.each([
    ['done', 'SUCCESS'],
    ['Failed', 'FAILURE'],
    ['started', 'STARTED'],
  ])('refuse the state %s, which would never end, and list the states', async (state, meant) => {
    const { sources, errors, tasks } = recording();
    sources.record({ id: '1', state });
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain(`record({ state: '${state}' }): write ${meant}.`);
    expect(errors[0]?.message).toContain(
      'PENDING, RECEIVED, STARTED, RETRY, SUCCESS, FAILURE, REVOKED, REJECTED',
    );
    expect(await tasks()).toEqual([]);
  });

  it('refuse a field that they do not know, and name the one that was meant', async () => {
    const { sources, errors, tasks } = recording();
    const task = { id: '1', state: 'FAILURE' };
    sources.record({ ...task, exception: new Error('no') } as never);
    sources.record({ ...task, argz: [] } as never);
    sources.record({ ...task, colour: 'red' } as never);
    sources.recordWorker({ hostname: 'w@h', conccurrency: 2 } as never);
    sources.recordQueue({ queue: 'mail', length: 3 } as never);
    expect(errors.map(({ message }) => message)).toEqual([
      "record: 'exception' is not a field. Write error instead.",
      "record: 'argz' is not a field. Did you mean 'args'?",
      expect.stringContaining(
        "record: 'colour' is not a field. The fields are: id, state, timestamp, name, ",
      ),
      "recordWorker: 'conccurrency' is not a field. Did you mean 'concurrency'?",
      "recordQueue: 'length' is not a field. Write waiting instead.",
    ]);
    expect(await tasks()).toEqual([]);
    expect(await sources.workers.listWorkers(CONTEXT)).toEqual([]);
    expect(await sources.history.getHistoryStats(CONTEXT)).toMatchObject({ dropped: 5 });
  });

  it('show values that JSON cannot hold', async () => {
    const { sources, tasks } = recording();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    sources.record({ id: '1', state: 'PENDING', args: circle, kwargs: new Map([['a', 1n]]) });
    expect(await tasks()).toMatchObject([{ args: '{"self":"[Circular]"}', kwargs: '[["a","1"]]' }]);
  });

  it('read schedules from a function, and have none without', async () => {
    expect(memorySources().schedules).toBeUndefined();
    const { sources } = recording({ schedules: async () => SCHEDULES });
    expect(await sources.schedules?.listSchedules(CONTEXT)).toEqual(
      SCHEDULES.map((schedule) => ({ ...schedule, redacted: true })),
    );
  });

  it.each([
    [null, /'options' must be an object/],
    [{ nme: 'x' }, /'nme' is not an option\. Did you mean 'name'\?/],
    [{ name: 'a b' }, /1 to 64 of A-Z/],
    [{ store: 'monitor.db' }, /'store' must be sqliteStore\('monitor\.db'\) of .*; it is a string/],
    [{ retention: { maxTask: 1 } }, /'retention\.maxTask' is not an option\. Did you mean 'maxTasks'\?/],
    [{ retention: 7 }, /'retention' must be an object/],
    [{ retention: { maxTasks: -1 } }, /'retention\.maxTasks' must be a whole number/],
    [{ now: 7 }, /'now' must be a function/],
    [{ onError: 7 }, /'onError' must be a function/],
    [{ schedules: 'daily' }, /an array of schedules or a function/],
  ])('refuse %j and say what to write', (options, message) => {
    expect(() => memorySources(options as never)).toThrow(message);
  });
});
