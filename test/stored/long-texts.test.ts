import { describe, expect, it, vi } from 'vitest';
import { WHOLE_AT_ONCE } from '../../src/history/store.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { instanceOf, taskIn } from './instances.ts';

const WAIT = { timeout: 30_000, interval: 20 };
const RESULT = 'x'.repeat(10_000);
const IDS = Array.from({ length: 2 * WHOLE_AT_ONCE + 20 }, (_, at) => `long-${at}`);

/** A store that notes how many tasks are read whole at once. */
function watchedStore(): { readonly store: ArrayStore; readonly sizes: number[] } {
  const plain = createArrayStore();
  const sizes: number[] = [];
  const store: ArrayStore = {
    ...plain,
    async open(opening) {
      const session = await plain.open(opening);
      const { tasks } = session;
      const read: typeof tasks.read = (ids) => {
        sizes.push(ids.length);
        return tasks.read(ids);
      };
      return { ...session, tasks: { ...tasks, read } };
    },
  };
  return { store, sizes };
}

/** Has an instance store tasks with long results, and closes it. */
async function storeLong(store: ArrayStore): Promise<void> {
  const history = instanceOf({ store });
  for (const id of IDS) end(history, id);
  await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(IDS.length), WAIT);
  await history.close();
}

function end({ writer }: StoredHistory, id: string): void {
  writer.recordTask({ id, type: 'succeeded', time: Date.now(), origin: 'event', result: RESULT });
}

describe('tasks with long texts', () => {
  it('are read a few at a time at a start, and whole', async () => {
    const { store, sizes } = watchedStore();
    await storeLong(store);
    sizes.length = 0;
    const history = instanceOf({ store });
    await vi.waitFor(() => expect(history.status().phase).toBe('ready'), WAIT);
    expect(sizes).toEqual([WHOLE_AT_ONCE, WHOLE_AT_ONCE, 20]);
    for (const id of IDS) expect((await taskIn(history, id))?.result).toBe(RESULT);
  });

  it('of which records have a lot are read a million characters at a time, and all of them are', async () => {
    const plain = createArrayStore();
    const pages: (readonly [count: number, characters: number])[] = [];
    const store: ArrayStore = {
      ...plain,
      async open(opening) {
        const session = await plain.open(opening);
        const records: typeof session.tasks.records = async (query) => {
          const page = await session.tasks.records(query);
          if (!query.isOpen)
            pages.push([page.length, page.reduce((sum, { record }) => sum + record.length, 0)]);
          return page;
        };
        return { ...session, tasks: { ...session.tasks, records } };
      },
    };
    const history = instanceOf({ store });
    const text = 'x'.repeat(2_000);
    const ids = Array.from({ length: 500 }, (_, at) => `task-${at}`);
    for (const id of ids)
      history.writer.recordTask({
        ...{ id, type: 'succeeded', time: Date.now(), origin: 'event' },
        ...{ args: text, kwargs: text, result: text },
      });
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(ids.length), WAIT);
    await history.close();
    pages.length = 0;
    const next = instanceOf({ store });
    await vi.waitFor(() => expect(next.status().phase).toBe('ready'), WAIT);
    expect(pages.map(([count]) => count)).toEqual([
      100,
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(pages.reduce((sum, [count]) => sum + count, 0)).toBe(ids.length);
    expect(Math.max(...pages.map(([, characters]) => characters))).toBeLessThan(1_050_000);
    for (const id of ids) expect((await taskIn(next, id))?.result).toBe(text);
  });

  it('are read a few at a time before they are written again, and all of them are', async () => {
    const { store, sizes } = watchedStore();
    await storeLong(store);
    // Memory holds one task, so that the others are unknown when a late message of each comes.
    const history = instanceOf({ store }, { maxTasks: 1 });
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    sizes.length = 0;
    for (const id of IDS) {
      history.writer.recordTask({ id, type: 'started', time: 5, origin: 'event', worker: 'celery@late' });
    }
    await vi.waitFor(() => {
      const versions = [...store.rows('celery').tasks.values()].map(({ version }) => version);
      expect(versions).toEqual(IDS.map(() => 2));
    }, WAIT);
    expect(Math.max(...sizes)).toBe(WHOLE_AT_ONCE);
    expect(history.status()).toMatchObject({ waiting: 0, lost: 0 });
    for (const { texts } of store.rows('celery').tasks.values()) expect(texts).toContain(RESULT);
  });

  it('are written although the store has lost their texts', async () => {
    const { store } = watchedStore();
    await storeLong(store);
    const { tasks } = store.rows('celery');
    for (const [key, task] of tasks) tasks.set(key, { ...task, texts: null });
    const history = instanceOf({ store }, { maxTasks: 1 });
    const [id = ''] = IDS;
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    history.writer.recordTask({ id, type: 'started', time: 5, origin: 'event', worker: 'celery@late' });
    const stored = () => [...tasks.values()].find((task) => task.id === id);
    await vi.waitFor(() => expect(stored()?.version).toBe(2), WAIT);
  });
});
