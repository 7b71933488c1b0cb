/** Reads of a history whose memory holds a part of what its store has. */
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import type { MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, idsOf, query, T0, told } from '../history/telling.ts';
import { AT_ONCE, instanceOf, untilReady, untilWritten } from './instances.ts';

const NOW = { now: () => T0 + 60_000 };
const away = { name: 'MonitorError', code: 'source_unavailable' };

interface Subject {
  readonly store: ArrayStore;
  readonly history: StoredHistory;
  /** Names of the calls that read tasks since the last look. */
  reads(): string[];
}

/** A history all of whose tasks are stored, the last ones of which are in memory. */
async function historyOver(
  changes: readonly TaskChange[],
  memory: MemoryHistoryOptions,
  relations: readonly TaskRelation[] = [],
): Promise<Subject> {
  const store = createArrayStore();
  const history = instanceOf({ store }, { ...NOW, ...memory }, AT_ONCE);
  for (const change of changes) history.writer.recordTask(change);
  for (const relation of relations) history.writer.recordRelation(relation);
  await untilWritten(history);
  await until(() => store.rows('celery').tasks.size > 0);
  store.calls.length = 0;
  const isRead = (call: string) => /^(?:tasks|relations)\.(?!write)/.test(call);
  return { store, history, reads: () => store.calls.splice(0).filter(isRead) };
}

/** A history that has nothing in memory, over the same store. */
async function follower({ store }: Subject): Promise<StoredHistory> {
  const history = instanceOf({ store, hearing: 'nothing' }, NOW, AT_ONCE);
  await untilReady(history);
  return history;
}

function loseStore({ store }: Subject): void {
  store.before = () => {
    throw new Error('away');
  };
}

const some = (count: number): TaskChange[] =>
  Array.from({ length: count }, (_, n) =>
    told({ id: `t${n}`, type: 'succeeded', time: T0 + n, name: 'lab.add' }),
  );

describe('a page of tasks', () => {
  it('that memory knows is answered without the store', async () => {
    const subject = await historyOver(some(50), { maxTasks: 30 });
    const { reader } = subject.history;
    expect(idsOf((await reader.listTasks(query({ limit: 10 }), CONTEXT)).tasks)[0]).toBe('t49');
    const late = await reader.listTasks(query({ since: new Date(T0 + 20), sort: 'name' }), CONTEXT);
    expect(late.total).toBe(30);
    expect(subject.reads()).toEqual([]);
  });

  it('is read from the store where it reaches further', async () => {
    const subject = await historyOver(some(50), { maxTasks: 30 });
    const page = await subject.history.reader.listTasks(query({ limit: 100 }), CONTEXT);
    expect(page).toMatchObject({ next: null, total: 50 });
    expect(subject.reads()).toContain('tasks.list');
  });

  it('has the rows of memory and an end that is none while the store is away', async () => {
    const subject = await historyOver(some(5), { maxTasks: 3 });
    loseStore(subject);
    const page = await subject.history.reader.listTasks(query({ limit: 10 }), CONTEXT);
    expect(idsOf(page.tasks)).toEqual(['t4', 't3', 't2']);
    expect(page).toMatchObject({ next: { key: T0 + 2, id: 't2' }, total: null, cursorExact: false });
  });
});

describe('a store that is away', () => {
  const running = [told({ id: 'old', type: 'started' }), told({ id: 'a', type: 'started', time: T0 + 1 })];

  it('leaves what memory has, and says what is missing', async () => {
    const subject = await historyOver(running, { maxTasks: 1 });
    loseStore(subject);
    const { reader } = subject.history;
    expect(await reader.getTask('a', CONTEXT)).toMatchObject({ state: 'STARTED' });
    expect(await reader.getTaskTree('a', CONTEXT)).toMatchObject({ truncated: true, tasks: [{ id: 'a' }] });
    const { open } = await reader.getActivity(CONTEXT);
    expect(open).toMatchObject({ isWhole: false, running: [{ id: 'a' }] });
  });

  it('is an error where memory has nothing, and no empty answer', async () => {
    const subject = await historyOver(running, { maxTasks: 1 });
    const { reader } = await follower(subject);
    loseStore(subject);
    const reads = [
      () => reader.listTasks(query(), CONTEXT),
      () => reader.getTask('a', CONTEXT),
      () => reader.getTaskTree('a', CONTEXT),
      () => reader.getActivity(CONTEXT),
    ];
    for (const read of reads) await expect((async () => await read())()).rejects.toMatchObject(away);
    // An unknown task may be a stored one.
    await expect((async () => await subject.history.reader.getTask('old', CONTEXT))()).rejects.toMatchObject(
      away,
    );
  });

  it('leaves statistics of the time that memory knows', async () => {
    const changes = [
      told({ id: 'old', type: 'received', time: T0 - 600_000 }),
      told({ id: 'a', type: 'received', time: T0 - 300_000 }),
      told({ id: 'b', type: 'received', time: T0 }),
    ];
    const subject = await historyOver(changes, { backdated: true, maxTasks: 2 });
    loseStore(subject);
    const asked = { minutes: 60, now: new Date(T0 + 1_000), filter: query() };
    const { series } = await subject.history.reader.getTaskStats(asked, CONTEXT);
    expect(series.at(0)?.received).toBe(null);
    expect(series.at(-1)?.received).toBe(1);
  });
});

describe('statistics', { timeout: 240_000 }, () => {
  it('of a time that memory knows need no store', async () => {
    const subject = await historyOver(some(50), { maxTasks: 30 });
    loseStore(subject);
    const asked = { minutes: 1, now: new Date(T0 + 60_020), filter: query() };
    expect(await subject.history.reader.getTaskStats(asked, CONTEXT)).toMatchObject({
      states: { SUCCESS: 30 },
    });
  });

  it('say that they do not know what was before the stored tasks that they read', async () => {
    const subject = await historyOver([told({ id: 'x', type: 'received' })], {});
    const { tasks } = subject.store.rows('celery');
    const [stored] = tasks.values();
    if (stored === undefined) throw new Error('no task');
    for (let n = 0; n < 22_000; n++) {
      tasks.set(`x${n}`, { ...stored, id: `x${n}`, timestamp: T0 - n * 100 });
    }
    const { store } = subject;
    const options = { backdated: true, now: () => T0 + 1_000 };
    const { reader, writer } = instanceOf({ store, hearing: 'part' }, options, AT_ONCE);
    writer.recordTask(told({ id: 'old', type: 'succeeded', time: T0 - 3 * 3_600_000 }));
    await until(() => store.openSessions === 2);
    const asked = { minutes: 120, now: new Date(T0 + 1_000), filter: query({ states: ['RECEIVED'] }) };
    const { series } = await reader.getTaskStats(asked, CONTEXT);
    expect(series.at(0)?.received).toBe(null);
    expect(series.at(-1)?.received).toBe(20_000);
  });

  it('have callers that only the store knows, unless it is away or has too many', async () => {
    const changes = [
      told({ id: 'o', name: 'order', type: 'succeeded', time: T0 - 3_600_000 }),
      told({ id: 'm', name: 'mail', type: 'succeeded', parentId: 'p', time: T0 - 3_600_000 }),
      told({ id: 'p', name: 'pay', type: 'succeeded', parentId: 'o', time: T0 }),
      told({ id: 'n', name: 'mail', type: 'succeeded', parentId: 'p', time: T0 + 1 }),
    ];
    const subject = await historyOver(changes, { maxTasks: 2 });
    const read = async () => {
      const asked = {
        minutes: 1,
        now: new Date(T0 + 1_000),
        callers: true,
        filter: query({ names: ['pay'] }),
      };
      const { callers, callees } = await subject.history.reader.getTaskStats(asked, CONTEXT);
      return { callers, callees };
    };
    const callers = [{ name: 'order', count: 1 }];
    expect(await read()).toEqual({ callers, callees: [{ name: 'mail', count: 2 }] });
    loseStore(subject);
    expect(await read()).toEqual({ callers: null, callees: null });
    subject.store.before = null;
    const { tasks } = subject.store.rows('celery');
    const child = [...tasks.values()].find(({ id }) => id === 'm');
    if (child === undefined) throw new Error('no child');
    for (let n = 0; n < 20_000; n++) tasks.set(`m${n}`, { ...child, id: `m${n}` });
    expect(await read()).toEqual({ callers, callees: null });
  });
});

describe('whether tasks are known', () => {
  it('is asked of the store only where memory does not know, and not again at once', async () => {
    const subject = await historyOver(some(3), { maxTasks: 2 });
    const { reader } = subject.history;
    expect(await reader.listKnown(['t1', 't2'], CONTEXT)).toEqual(new Set(['t1', 't2']));
    expect(subject.reads()).toEqual([]);
    expect(await reader.listKnown(['t0', 't1', 'unknown'], CONTEXT)).toEqual(new Set(['t0', 't1']));
    expect(subject.reads()).not.toEqual([]);
    expect(await reader.listKnown(['t0', 'unknown'], CONTEXT)).toEqual(new Set(['t0']));
    expect(subject.reads()).toEqual([]);
    expect(await reader.getTask('unknown', CONTEXT)).toBe(null);
  });
});

describe('a workflow', { timeout: 240_000 }, () => {
  it('is answered without the store when it began lately', async () => {
    const changes = [
      told({ id: 'old', type: 'succeeded', time: T0 - 3_600_000 }),
      told({ id: 'a', type: 'started', time: T0, rootId: 'a' }),
      told({ id: 'b', type: 'sent', time: T0, rootId: 'a', parentId: 'a', chordId: 'later' }),
    ];
    const subject = await historyOver(changes, { maxTasks: 2 });
    loseStore(subject);
    expect((await subject.history.reader.getTaskTree('a', CONTEXT))?.tasks).toHaveLength(2);
    expect(subject.reads()).toEqual([]);
  });

  it('waits for the store once where memory has all of it', async () => {
    const changes = Array.from({ length: 50 }, (_, n) =>
      told({ id: `t${n}`, type: 'succeeded', time: T0, rootId: 't0', ...(n > 0 && { parentId: 't0' }) }),
    );
    const old = told({ id: 'old', type: 'succeeded', time: T0 + 1_000 });
    const subject = await historyOver([old, ...changes], { maxTasks: 50 });
    expect((await subject.history.reader.getTaskTree('t7', CONTEXT))?.tasks.length).toBeGreaterThan(40);
    expect(subject.reads().filter((call) => call === 'relations.read').length).toBeLessThanOrEqual(1);
  });

  it('has 20,000 tasks at most', async () => {
    const subject = await historyOver([told({ id: 'x', type: 'succeeded', rootId: 'r' })], {});
    const { tasks } = subject.store.rows('celery');
    const [stored] = tasks.values();
    if (stored === undefined) throw new Error('no task');
    for (let n = 0; n < 20_100; n++) tasks.set(`x${n}`, { ...stored, id: `x${n}`, parentId: 'r' });
    const tree = await (await follower(subject)).reader.getTaskTree('x7', CONTEXT);
    expect(tree?.truncated).toBe(true);
    expect(tree?.tasks.length).toBeGreaterThan(19_000);
  });

  it('is read a few large records at a time, and shortens the texts of many tasks', async () => {
    const texts = { args: 'a'.repeat(2_000), kwargs: 'k'.repeat(2_000), result: 'r'.repeat(2_000) };
    const subject = await historyOver([told({ id: 'x', type: 'succeeded', rootId: 'r', ...texts })], {});
    const { store } = subject;
    const { tasks } = store.rows('celery');
    const [stored] = tasks.values();
    if (stored === undefined) throw new Error('no task');
    tasks.clear();
    for (let n = 0; n < 4_000; n++) tasks.set(`x${n}`, { ...stored, id: `x${n}`, parentId: 'r' });
    const sizes: number[] = [];
    const watched: ArrayStore = {
      ...store,
      async open(opening) {
        const session = await store.open(opening);
        const find: typeof session.tasks.find = async (asked) => {
          const found = await session.tasks.find(asked);
          sizes.push(found.reduce((sum, { record }) => sum + record.length, 0));
          return found;
        };
        return { ...session, tasks: { ...session.tasks, find } };
      },
    };
    const tree = await (await follower({ ...subject, store: watched })).reader.getTaskTree('x7', CONTEXT);
    expect(tree?.tasks).toHaveLength(4_000);
    expect(Math.max(...sizes)).toBeLessThan(1_500_000);
    const [first, last] = [tree?.tasks[0], tree?.tasks.at(-1)];
    expect(first).toMatchObject({ ...texts, truncated: [] });
    expect(last).toMatchObject({ args: 'a'.repeat(256), kwargs: 'k'.repeat(256), result: 'r'.repeat(256) });
    expect(last?.truncated).toEqual(['args', 'kwargs', 'result']);
  });
});

describe('reads of the store', () => {
  it('are a few at once, and no more wait than can be answered soon', async () => {
    const subject = await historyOver(some(3), {});
    const { reader } = await follower(subject);
    let running = 0;
    let most = 0;
    let goOn = (): void => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    subject.store.before = async (call) => {
      if (!call.startsWith('tasks.')) return;
      most = Math.max(most, ++running);
      await gate;
    };
    subject.store.after = (call) => {
      if (call.startsWith('tasks.')) running--;
    };
    const codes: unknown[] = [];
    const reads = Array.from({ length: 100 }, async () => {
      try {
        return await reader.getTask('t1', CONTEXT);
      } catch (error) {
        codes.push((error as { code: unknown }).code);
        return null;
      }
    });
    await until(() => codes.length > 0 && most === 8);
    goOn();
    await Promise.all(reads);
    expect(most).toBe(8);
    expect(new Set(codes)).toEqual(new Set(['overloaded']));
    expect(await reader.getTask('t1', CONTEXT)).not.toBe(null);
  });

  it('end with the signal', async () => {
    const subject = await historyOver(some(3), {});
    const { reader } = await follower(subject);
    subject.store.before = (call) => (call.startsWith('tasks.') ? new Promise(() => {}) : undefined);
    const controller = new AbortController();
    const read = reader.getTask('t1', { signal: controller.signal });
    controller.abort(new Error('left'));
    await expect(read).rejects.toThrow('left');
  });
});
