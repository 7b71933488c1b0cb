import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { CONTEXT, historyOf, idsOf, orders, page, T0, told } from './telling.ts';

/** A task as the backend alone tells it: its parent, not its root. */
const stored = (id: string, parentId: string | null | undefined, more: Partial<TaskChange> = {}) =>
  told({
    id,
    type: 'succeeded',
    origin: 'result',
    stored: true,
    ...(parentId === undefined ? {} : { parentId }),
    ...more,
  });
const rootsOf = async (changes: readonly TaskChange[]) => {
  const { tasks } = await page(historyOf(changes));
  return Object.fromEntries(tasks.map(({ id, rootId }) => [id, rootId]));
};

describe('the root of a task that nobody told', () => {
  const chain = [stored('a', null), stored('b', 'a'), stored('c', 'b')];

  it('is that of its parent, as soon as it is known, in whatever order they come', async () => {
    for (const order of orders(chain)) {
      expect(await rootsOf(order)).toEqual({ a: 'a', b: 'a', c: 'a' });
      const history = historyOf(order);
      expect(idsOf((await page(history, { rootId: 'a' })).tasks).sort()).toEqual(['a', 'b', 'c']);
      expect((await history.reader.getTaskTree('c', CONTEXT))?.rootId).toBe('a');
    }
  });

  it('is shown by a row that was read before', async () => {
    const history = historyOf([stored('c', 'b')]);
    expect((await page(history)).tasks[0]?.rootId).toBeNull();
    history.writer.recordTask(stored('b', 'a'));
    history.writer.recordTask(stored('a', null));
    expect((await page(history)).tasks.map(({ rootId }) => rootId)).toEqual(['a', 'a', 'a']);
  });

  it('is what an event says of any of its ancestors', async () => {
    const said = told({ id: 'b', type: 'sent', parentId: 'a', rootId: 'r' });
    for (const order of orders([said, stored('b', 'a'), stored('c', 'b'), stored('d', 'c')])) {
      expect(await rootsOf(order)).toEqual({ b: 'r', c: 'r', d: 'r' });
    }
  });

  it('is not told while the top of the chain may have a parent, yet the workflow has one', async () => {
    const open = [stored('a', undefined), stored('b', 'a'), stored('c', 'b')];
    expect(await rootsOf(open)).toEqual({ a: null, b: null, c: null });
    expect((await historyOf(open).reader.getTaskTree('c', CONTEXT))?.rootId).toBe('a');
    expect((await historyOf([stored('c', 'b')]).reader.getTaskTree('c', CONTEXT))?.rootId).toBe('b');
  });

  it('is its own where a retry names the task as its parent, and not where a replacement may', async () => {
    expect(await rootsOf([stored('a', 'a', { retries: 1 }), stored('b', 'a')])).toEqual({ a: 'a', b: 'a' });
    expect(await rootsOf([stored('a', 'a', { retries: 0 })])).toEqual({ a: null });
    // What an earlier word said of the parent stays.
    const first = stored('a', 'p', { type: 'started', time: null, retries: 0 });
    const last = stored('a', 'a', { retries: 1 });
    const top = stored('p', null);
    for (const order of [
      [top, first, last],
      [first, top, last],
      [first, last, top],
    ]) {
      expect(await rootsOf(order)).toEqual({ a: 'p', p: 'p' });
    }
  });

  it('follows a relation where no parent is told', async () => {
    for (const order of orders(['task', 'chain', 'root'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step === 'task') history.writer.recordTask(stored('b', undefined));
        else if (step === 'chain')
          history.writer.recordRelation({ parent: 'a', child: 'b', relation: 'chain' });
        else history.writer.recordTask(stored('a', null));
      }
      expect((await history.reader.getTask('b', CONTEXT))?.rootId).toBe('a');
      expect((await history.reader.getTaskTree('b', CONTEXT))?.rootId).toBe('a');
    }
  });

  it('stays when the ancestor is no longer held', async () => {
    const history = historyOf([stored('a', null), stored('b', 'a', { time: T0 + 1 })], { maxTasks: 1 });
    expect((await page(history)).tasks).toMatchObject([{ id: 'b', rootId: 'a' }]);
    history.writer.recordRelation({ parent: 'a', child: 'b', relation: 'chain' });
    expect((await page(history, { rootId: 'a' })).tasks).toMatchObject([{ id: 'b', rootId: 'a' }]);
  });

  it('does not come from groups and chords: their members may have several', async () => {
    const history = historyOf([stored('a', null), stored('b', undefined), stored('c', undefined)]);
    history.writer.recordRelation({ parent: 'a', child: 'b', relation: 'chord' });
    history.writer.recordRelation({ parent: 'a', child: 'c', relation: 'group' });
    expect((await history.reader.getTask('b', CONTEXT))?.rootId).toBeNull();
    expect((await history.reader.getTask('c', CONTEXT))?.rootId).toBeNull();
  });

  it('ends at a cycle of parents', async () => {
    const cycle = [stored('a', 'b'), stored('b', 'c'), stored('c', 'a'), stored('x', 'a')];
    for (const order of orders(cycle)) {
      expect(await rootsOf(order)).toEqual({ a: null, b: null, c: null, x: null });
      const history = historyOf(order);
      expect((await history.reader.getTaskTree('x', CONTEXT))?.rootId).toBe('x');
      history.writer.recordTask(told({ id: 'b', type: 'sent', time: T0 - 9, parentId: 'c', rootId: 'r' }));
      for (const id of ['a', 'b', 'c', 'x']) {
        expect((await history.reader.getTask(id, CONTEXT))?.rootId).toBe('r');
      }
    }
  });

  it('reaches down a long chain that was read from its end', async () => {
    const long = Array.from({ length: 20_000 }, (_, n) => stored(`t${n}`, n === 0 ? null : `t${n - 1}`));
    const history = historyOf(long.reverse());
    expect((await page(history, { rootId: 't0', limit: 1 })).total).toBe(20_000);
  });
});

describe('the parent', () => {
  const ended = (id: string, parentId: string | null, at: number) =>
    told({ id, type: 'succeeded', time: T0 + at, origin: 'result', stored: true, parentId });
  const parentsOf = async (changes: readonly TaskChange[]) => {
    const history = historyOf([]);
    const parents: (string | null | undefined)[] = [];
    for (const change of changes) {
      history.writer.recordTask(change);
      await page(history);
    }
    for (const id of ['replaced', 'first', 'second']) {
      parents.push((await history.reader.getTask(id, CONTEXT))?.parentId);
    }
    return parents;
  };

  it('of a replaced task is none of its descendants', async () => {
    // It replaced itself by a chain, whose last step has its id.
    const chain = [
      ended('first', 'replaced', 1),
      ended('second', 'first', 2),
      ended('replaced', 'second', 3),
    ];
    for (const order of orders(chain)) {
      expect(await parentsOf(order)).toEqual([null, 'replaced', 'first']);
      expect(await parentsOf([...order, ...order])).toEqual([null, 'replaced', 'first']);
    }
    // What it was sent with counts more than all results.
    const sent = told({ id: 'replaced', type: 'sent', time: T0, parentId: 'caller', retries: 0 });
    for (const order of orders([...chain, sent])) {
      expect(await parentsOf(order)).toEqual(['caller', 'replaced', 'first']);
    }
  });
});
