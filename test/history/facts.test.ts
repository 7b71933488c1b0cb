import { describe, expect, it } from 'vitest';
import type { TaskChange, TaskFacts } from '../../src/history/history.ts';
import type { TaskDetail, TaskTextField } from '../../src/model.ts';
import { CONTEXT, historyOf, idsOf, orders, page, T0, taskOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';
const sent = told({ type: 'sent', time: T0, retries: 0, name: 'lab.add', queue: 'celery' });
const received = told({ type: 'received', time: T0 + 10, worker: W1, retries: 0, name: 'lab.add' });
const started = told({ type: 'started', time: T0 + 20, worker: W1 });
const succeeded = told({ type: 'succeeded', time: T0 + 30, worker: W1, result: '4', runtime: 0.01 });
const failed = told({ type: 'failed', time: T0 + 20, worker: W1, exception: 'first...', traceback: 'T...' });

describe('what is told of a task', () => {
  it('keeps times of the last run', async () => {
    const task = await taskOf([
      sent,
      received,
      started,
      told({ type: 'retried', time: T0 + 30, worker: W1, exception: 'RuntimeError()' }),
      told({ type: 'received', time: T0 + 40, worker: W2, retries: 1 }),
      told({ type: 'started', time: T0 + 50, worker: W2 }),
      told({ type: 'succeeded', time: T0 + 60, worker: W2, result: '1', runtime: 0.01 }),
    ]);
    expect(task).toMatchObject({
      sent: new Date(T0),
      received: new Date(T0 + 40),
      started: new Date(T0 + 50),
      finished: new Date(T0 + 60),
      timestamp: new Date(T0 + 60),
      retries: 1,
      runtime: 0.01,
      exception: null,
    });
    expect(task.timeline?.map(({ state, detail }) => [state, detail])).toEqual([
      ['PENDING', null],
      ['RECEIVED', null],
      ['STARTED', null],
      ['RETRY', 'RuntimeError()'],
      ['RECEIVED', null],
      ['STARTED', null],
      ['SUCCESS', null],
    ]);
  });

  it('knows the queue, which only the sender tells, also when the worker was faster', async () => {
    const late = told({ type: 'sent', time: T0 - 5, retries: 0, queue: 'mail' });
    const fast = told({ type: 'received', time: T0 - 9, worker: W1, retries: 0 });
    for (const order of orders([late, fast, started])) expect((await taskOf(order)).queue).toBe('mail');
  });

  it('counts attempts by the backend alone once, also when it tells each twice', async () => {
    const of = (type: TaskChange['type'], time: number | null = null) =>
      told({ type, time, origin: 'result' });
    const stream = [of('started'), of('retried'), of('started'), of('retried'), of('started')];
    const ends = [...stream, of('succeeded', T0 + 50)];
    const running = await taskOf(stream.flatMap((one) => [one, one]));
    const ended = await taskOf([...ends, ...ends]);
    const statesOf = ({ timeline }: TaskDetail) => timeline?.map(({ state }) => state);
    const attempts = ['STARTED', 'RETRY', 'STARTED', 'RETRY', 'STARTED'];
    // Earlier attempts may have been missed, so the number of the attempt is not known.
    expect(running).toMatchObject({ state: 'STARTED', retries: null });
    expect(statesOf(running)).toEqual(attempts);
    expect(ended).toMatchObject({ state: 'SUCCESS', retries: null });
    expect(statesOf(ended)).toEqual([...attempts, 'SUCCESS']);
  });

  it("prefers the sender's name to the shadow name that a worker shows", async () => {
    const shadowed = told({ type: 'received', time: T0 + 10, worker: W1, name: 'pretty.name' });
    for (const order of orders([sent, shadowed])) expect((await taskOf(order)).name).toBe('lab.add');
  });

  it('takes the new name of a task that was replaced', async () => {
    const again = told({ type: 'sent', time: T0 + 25, name: 'lab.other', retries: 0 });
    for (const order of orders([sent, received, started, again])) {
      expect((await taskOf(order)).name).toBe('lab.other');
    }
  });

  it('keeps the parent it was first sent with, and never its own id', async () => {
    const first = { ...sent, parentId: 'p', rootId: 'r' };
    const retry = told({ type: 'sent', time: T0 + 25, retries: 1, parentId: 'a', rootId: 'r' });
    for (const order of orders([first, started, retry])) {
      expect(await taskOf(order)).toMatchObject({ parentId: 'p', rootId: 'r' });
    }
    expect((await taskOf([{ ...sent, parentId: 'a', rootId: 'a' }])).parentId).toBeNull();
  });

  it('is listed once if both the worker and the backend report it', async () => {
    const result = told({ type: 'succeeded', time: T0 + 29, origin: 'result', result: '4' });
    for (const order of orders([sent, received, started, succeeded, result])) {
      const { timeline, finished } = await taskOf(order);
      expect(timeline?.map(({ state }) => state)).toEqual(['PENDING', 'RECEIVED', 'STARTED', 'SUCCESS']);
      expect(finished).toEqual(new Date(T0 + 30));
    }
  });

  it('takes the whole result of the backend where the event had cut it', async () => {
    const cut = { ...succeeded, result: "'aaa...", truncated: ['result'] as const };
    const whole = told({ type: 'succeeded', time: T0 + 29, origin: 'result', result: "'aaaaaa'" });
    for (const order of orders([received, cut, whole])) {
      expect(await taskOf(order)).toMatchObject({ result: "'aaaaaa'", truncated: [] });
    }
    expect(await taskOf([received, cut])).toMatchObject({ result: "'aaa...", truncated: ['result'] });
  });

  it.each<[string, TaskChange, readonly TaskTextField[]]>([
    ['an error of an earlier attempt', { ...failed, type: 'retried' }, ['exception', 'traceback']],
    ['arguments of which nothing is left', received, ['args', 'kwargs']],
  ])('says that a text was cut, whatever comes first: %s', async (_, change, truncated) => {
    const end = told({ ...failed, time: T0 + 30, exception: 'last', traceback: 'T' });
    for (const order of orders([{ ...change, truncated }, end])) {
      expect(await taskOf(order)).toMatchObject({ exception: 'last', traceback: 'T', truncated });
    }
  });

  it('was sent before it was received, whatever the clocks say', async () => {
    const late = told({ type: 'sent', time: T0 + 15, retries: 0 });
    const { timeline } = await taskOf([late, received, started]);
    expect(timeline?.map(({ state, timestamp }) => [state, timestamp?.getTime()])).toEqual([
      ['PENDING', T0 + 10],
      ['RECEIVED', T0 + 10],
      ['STARTED', T0 + 20],
    ]);
  });

  it('shows the exception that ended it, not that of an earlier attempt', async () => {
    const retried = told({ type: 'retried', time: T0 + 15, worker: W1, exception: 'first' });
    const end = told({ type: 'failed', time: T0 + 30, origin: 'result', exception: 'last', retries: 1 });
    for (const order of orders([received, retried, end]))
      expect((await taskOf(order)).exception).toBe('last');
  });

  it('keeps a bounded timeline of a task that is retried without end', async () => {
    const messages = Array.from({ length: 500 }, (_, n) => [
      told({ type: 'received', time: T0 + n * 10, worker: W1, retries: n }),
      told({ type: 'retried', time: T0 + n * 10 + 5, worker: W1 }),
    ]).flat();
    const task = await taskOf([sent, ...messages]);
    expect(task.retries).toBe(499);
    expect(task.state).toBe('RETRY');
    expect(task.timeline?.length).toBeLessThanOrEqual(700);
  });
});

const HEADER: TaskFacts = {
  id: 'a',
  name: 'lab.add',
  queue: 'mail',
  args: '(1,)',
  kwargs: '{}',
  eta: T0 + 90_000,
  expires: T0 + 99_000,
  parentId: 'p',
  rootId: 'r',
  groupId: 'g',
  chordId: 'body',
  kind: 'map',
  stamps: { tenant: 'acme' },
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  truncated: ['args'],
};
const SHOWN = {
  name: 'lab.add',
  queue: 'mail',
  args: '(1,)',
  kwargs: '{}',
  eta: new Date(T0 + 90_000),
  expires: new Date(T0 + 99_000),
  parentId: 'p',
  rootId: 'r',
  groupId: 'g',
  chordId: 'body',
  kind: 'map',
  stamps: { tenant: 'acme' },
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  truncated: ['args'],
};
const bare = told({ type: 'received', retries: 0, worker: 'w@h' });

describe('facts of a task', () => {
  it('fill what its messages left open, without a change in its life', async () => {
    const history = historyOf([bare]);
    const before = await history.reader.getTask('a', CONTEXT);
    const { events, tasks } = {
      events: history.reader.freshness('events').revision,
      tasks: history.reader.freshness('tasks').revision,
    };
    history.writer.recordFacts(HEADER);
    expect(history.index.stateOf('a')).not.toBeNull();
    expect(await history.reader.getTask('a', CONTEXT)).toEqual({ ...before, ...SHOWN });
    expect(history.reader.freshness('events').revision).toBe(events);
    expect(history.reader.freshness('tasks').revision).toBeGreaterThan(tasks);
    for (const part of [{ names: ['lab.add'] }, { queues: ['mail'] }, { rootId: 'r' }, { groupId: 'g' }]) {
      expect(idsOf((await page(history, part)).tasks), JSON.stringify(part)).toEqual(['a']);
    }
    expect(history.reader.freshness('tasks').changesAt?.getTime()).toBeLessThanOrEqual(T0 + 90_000);
  });

  it('move no revision when they tell nothing new', async () => {
    const history = historyOf([bare]);
    history.writer.recordFacts(HEADER);
    const before = history.reader.freshness('tasks').revision;
    history.writer.recordFacts(HEADER);
    history.writer.recordFacts({
      ...HEADER,
      name: 'other',
      queue: 'other',
      args: 'other',
      parentId: 'other',
    });
    history.writer.recordFacts({ id: 'a' });
    expect(history.reader.freshness('tasks').revision).toBe(before);
    expect(await history.reader.getTask('a', CONTEXT)).toMatchObject(SHOWN);
    history.writer.recordFacts({ id: 'a', stamps: { tenant: 'other' }, kind: 'chunks' });
    expect(history.reader.freshness('tasks').revision).toBe(before);
  });

  it('are weaker than any message of the task itself, whichever comes first', async () => {
    const own = { name: 'own.name', args: '(9,)', kwargs: '{9}', parentId: 'own', rootId: 'own.root' };
    const messages: TaskChange[] = [
      told({ type: 'sent', retries: 0, queue: 'own', eta: null, ...own }),
      told({ type: 'succeeded', origin: 'result', time: T0 + 9, queue: 'own', groupId: 'own', ...own }),
    ];
    for (const message of messages) {
      const before = historyOf([bare]);
      before.writer.recordFacts(HEADER);
      before.writer.recordTask(message);
      const after = historyOf([bare, message]);
      after.writer.recordFacts(HEADER);
      const task = await after.reader.getTask('a', CONTEXT);
      expect(task).toMatchObject({ ...own, queue: 'own' });
      expect(await before.reader.getTask('a', CONTEXT)).toEqual(task);
    }
  });

  it('of a task that is not known are not kept', async () => {
    const history = historyOf([]);
    history.writer.recordFacts(HEADER);
    expect(history.index.stateOf('a')).toBeNull();
    expect((await page(history)).total).toBe(0);
    history.writer.recordTask(bare);
    expect((await page(history)).tasks[0]?.name).toBeNull();
    history.close();
    history.writer.recordFacts(HEADER);
    expect(history.index.stateOf('a')).toBeNull();
  });

  it('name the parent of a task whose root follows from it', async () => {
    const history = historyOf([bare, told({ id: 'p', type: 'sent', rootId: 'top', parentId: null })]);
    history.writer.recordFacts({ id: 'a', parentId: 'p' });
    expect((await page(history, { rootId: 'top' })).tasks.map(({ id }) => id).sort()).toEqual(['a', 'p']);
    history.writer.recordFacts({ id: 'a', rootId: 'told' });
    expect((await history.reader.getTask('a', CONTEXT))?.rootId).toBe('told');
  });

  it('fill many tasks between two reads', async () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => `t${n}`);
    const history = historyOf(ids.map((id) => told({ id, type: 'started' })));
    for (const id of ids) history.writer.recordFacts({ id, name: 'lab.add', queue: 'mail' });
    expect((await page(history, { queues: ['mail'], limit: 1 })).total).toBe(10_000);
    expect((await page(history, { names: ['lab.add'], limit: 1 })).total).toBe(10_000);
  });
});

describe('stamps', () => {
  it('are shown as they were given', async () => {
    const stamps = { region: ['eu', 'us'], tenant: 'acme', number: 2n ** 60n };
    const task = await taskOf([told({ type: 'sent', stamps })]);
    expect(task.stamps).toEqual(stamps);
    expect(task.stamps).not.toBe(stamps);
    expect((await taskOf([told({ type: 'sent' })])).stamps).toBeNull();
  });

  it('that are large or no plain data are left out', async () => {
    const loop: Record<string, unknown> = {};
    loop.again = loop;
    const hostile = {
      toJSON() {
        throw new Error('no');
      },
    };
    for (const stamps of ['x'.repeat(5_000), { a: 'x'.repeat(5_000) }, loop, hostile, () => 1]) {
      expect((await taskOf([told({ type: 'sent', stamps })])).stamps).toBeNull();
    }
  });

  it('count towards the bytes, and go with their task', async () => {
    const history = historyOf([told({ type: 'sent' })], { maxTasks: 1 });
    const { bytes } = await history.reader.getStats(CONTEXT);
    history.writer.recordTask(told({ type: 'received', stamps: { tenant: 'x'.repeat(1_000) } }));
    expect((await history.reader.getStats(CONTEXT)).bytes).toBeGreaterThan(bytes + 1_000);
    history.writer.recordTask(told({ id: 'b', type: 'sent', time: T0 + 9 }));
    expect((await history.reader.getStats(CONTEXT)).bytes).toBe(bytes);
  });
});
