import { describe, expect, it } from 'vitest';
import type { TaskChange, TaskFacts } from '../../src/history/history.ts';
import { CONTEXT, historyOf, idsOf, page, T0, taskOf, told } from './telling.ts';

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
