import { describe, expect, it, vi } from 'vitest';
import type { StoredTask } from '../../src/history/store.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT, query } from '../history/telling.ts';
import { instanceOf } from './instances.ts';

const WAIT = { timeout: 10_000, interval: 20 };
const FRAME = '  File "/app/shop.py", line 7, in pay\n';
/** Only its end says where the error was raised. */
const TRACEBACK = `${'  File "/app/deep.py", line 1, in again\n'.repeat(80)}${FRAME}KeyError: 1`;

const causesIn = (store: ArrayStore) =>
  [...store.rows('celery').tasks.values()].map(({ id, cause }) => [id, cause] as const).sort();

/** Stores failures as version 1 did. */
async function storeWithoutCauses(store: ArrayStore, count: number): Promise<void> {
  const history = instanceOf({ store });
  const failed = { type: 'failed', origin: 'event' } as const;
  for (let at = 0; at < count; at++) {
    const traceback = at % 2 === 0 ? TRACEBACK : `${FRAME}KeyError: 1`;
    history.writer.recordTask({
      ...failed,
      id: `t${at}`,
      time: Date.now() - at,
      exception: 'KeyError(1)',
      traceback,
    });
  }
  history.writer.recordTask({ ...failed, id: 'silent', time: Date.now() });
  history.writer.recordTask({ ...failed, id: 'done', type: 'succeeded', time: Date.now() });
  await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(count + 2), WAIT);
  await history.close();
  const { tasks, texts } = store.rows('celery');
  for (const [key, task] of tasks) tasks.set(key, { ...task, cause: null } satisfies StoredTask);
  texts.delete('history.causes');
}

describe('failures that were stored without a cause', () => {
  it('get it once, from their whole texts, and are found by it', async () => {
    const store = createArrayStore();
    await storeWithoutCauses(store, 300);
    const history = instanceOf({ store }, { maxTasks: 10 });
    await vi.waitFor(() => expect(store.rows('celery').texts.has('history.causes')).toBe(true), WAIT);
    const found = new Map(causesIn(store));
    const cause = found.get('t0') ?? '';
    expect(cause).toMatch(/^[0-9a-f]{12}$/);
    expect([...new Set(found.values())].sort()).toEqual(['', cause, null].sort());
    expect([found.get('silent'), found.get('done')]).toEqual(['', null]);
    const page = await history.reader.listTasks(query({ causes: [cause], limit: 1_000 }), CONTEXT);
    expect(page.tasks).toHaveLength(300);
    // Another start does not look again.
    const { tasks } = store.rows('celery');
    for (const [key, task] of tasks) tasks.set(key, { ...task, cause: null });
    await history.close();
    const again = instanceOf({ store }, { maxTasks: 10 });
    await vi.waitFor(() => expect(again.status().bytes).not.toBeNull(), WAIT);
    expect(new Set(causesIn(store).map(([, one]) => one))).toEqual(new Set([null]));
  });
});
