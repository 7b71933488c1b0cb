import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { buildGraph, relationsOf } from '../graph/graph-kit.ts';
import { CONTEXT, historyOf, idsOf, orders, page, T0, told } from './telling.ts';

const task = (id: string, more = {}) => told({ id, type: 'started', ...more });
const relate = (history: History, parent: string | null, child: string, relation: string) =>
  history.writer.recordRelation({ parent, child, relation });
const treeOf = async (history: History, id: string) => {
  const tree = await history.reader.getTaskTree(id, CONTEXT);
  if (tree === null) throw new Error(`task ${id} is not known`);
  return tree;
};
const textOf = ({ parent, child, relation }: TaskRelation): string => `${parent}-${relation}-${child}`;
const toldOf = async (history: History, id: string): Promise<string[]> =>
  ((await treeOf(history, id)).relations ?? []).map(textOf).sort();
/** As clients see them. */
const shownOf = async (history: History, id: string): Promise<string[]> =>
  relationsOf(await treeOf(history, id))
    .map(textOf)
    .sort();

describe('a relation', () => {
  it('is listed once, however often it is reported and whether its tasks are known or not', async () => {
    for (const order of orders(['a', 'b', 'chain', 'again'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step.length === 1) history.writer.recordTask(task(step));
        else relate(history, 'a', 'b', 'chain');
      }
      for (const id of ['a', 'b']) {
        expect(await toldOf(history, id)).toEqual(['a-chain-b']);
        expect(idsOf((await treeOf(history, id)).tasks).sort()).toEqual(['a', 'b']);
      }
      const before = history.reader.freshness('tasks').revision;
      relate(history, 'a', 'b', 'chain');
      expect(history.reader.freshness('tasks').revision).toBe(before);
    }
  });

  it('of a more telling kind replaces a less telling one of the same pair', async () => {
    for (const order of orders(['child', 'chain', 'link_error'])) {
      const history = historyOf([task('a'), task('b')]);
      for (const kind of order) relate(history, 'a', 'b', kind);
      expect(await toldOf(history, 'a')).toEqual(['a-link_error-b']);
    }
    for (const order of orders(['child', 'spawned', 'awoken'])) {
      const history = historyOf([task('a'), task('b')]);
      for (const kind of order) relate(history, 'a', 'b', kind);
      expect(await toldOf(history, 'a')).toEqual(['a-awoken-b']);
    }
  });

  it('that follows from the parent is not repeated, one that tells more of the same pair is', async () => {
    for (const order of orders(['task', 'child', 'map'])) {
      const history = historyOf([task('a')]);
      for (const step of order) {
        if (step === 'task') history.writer.recordTask(task('b', { type: 'sent', parentId: 'a' }));
        else if (step === 'child') relate(history, 'a', 'b', 'child');
        else relate(history, 'a', 'c', 'map');
      }
      expect(await toldOf(history, 'a')).toEqual(['a-map-c']);
      relate(history, 'a', 'b', 'chunks');
      expect(await toldOf(history, 'a')).toEqual(['a-chunks-b', 'a-map-c']);
    }
  });

  it('leads over ids of which nothing else is known, in both directions', async () => {
    const history = historyOf([task('a'), task('z')]);
    relate(history, 'a', 'b', 'link');
    relate(history, 'b', 'c', 'chain');
    relate(history, 'z', 'c', 'link_error');
    for (const id of ['a', 'z']) {
      const tree = await treeOf(history, id);
      expect(idsOf(tree.tasks).sort()).toEqual(['a', 'z']);
      expect(await toldOf(history, id)).toEqual(['a-link-b', 'b-chain-c', 'z-link_error-c']);
      const { nodes, edges } = buildGraph(tree, id, 100);
      expect(nodes.map((node) => node.id).sort()).toEqual(['a', 'b', 'c', 'z']);
      expect(edges).toHaveLength(3);
    }
  });

  it('names children beside those that name their parent', async () => {
    const history = historyOf([task('a'), task('b', { type: 'sent', parentId: 'a' })]);
    relate(history, 'a', 'b', 'chain');
    relate(history, 'a', 'c', 'child');
    relate(history, 'a', 'body', 'chord');
    expect((await history.reader.getTask('a', CONTEXT))?.children).toEqual(['b', 'c']);
  });

  it('that makes no sense is ignored', async () => {
    const history = historyOf([task('a')]);
    const before = history.reader.freshness('tasks').revision;
    relate(history, null, 'a', 'chain');
    relate(history, 'a', 'a', 'child');
    relate(history, '', 'a', 'child');
    relate(history, 'x'.repeat(513), 'a', 'child');
    history.writer.recordRelation({ parent: 'a', child: 7, relation: 'child' } as unknown as TaskRelation);
    expect(history.reader.freshness('tasks').revision).toBe(before);
    expect(await toldOf(history, 'a')).toEqual([]);
  });
});

describe('membership of a group', () => {
  it('becomes the group of the task, now or when it appears', async () => {
    for (const order of orders(['a', 'b', 'tell'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step !== 'tell') history.writer.recordTask(task(step));
        else for (const id of ['a', 'b', 'c']) relate(history, 'g', id, 'group');
      }
      expect((await history.reader.getTask('a', CONTEXT))?.groupId).toBe('g');
      expect(idsOf((await page(history, { groupId: 'g' })).tasks).sort()).toEqual(['a', 'b']);
      // Of a member that is not known nothing else tells.
      expect(await toldOf(history, 'b')).toEqual(['g-group-c']);
      expect(await shownOf(history, 'b')).toEqual(['g-group-a', 'g-group-b', 'g-group-c']);
    }
  });

  it('by the word of the task itself stands, with the other one beside it', async () => {
    const own = task('a', { origin: 'result', groupId: 'own' });
    for (const order of orders(['task', 'z', 'h'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step === 'task') history.writer.recordTask(own);
        else relate(history, step, 'a', 'group');
      }
      expect((await history.reader.getTask('a', CONTEXT))?.groupId).toBe('own');
      expect(await shownOf(history, 'a')).toEqual(['h-group-a', 'own-group-a', 'z-group-a']);
    }
  });
});

describe('membership of several groups', () => {
  it('does not depend on which was told first', async () => {
    for (const order of orders(['task', 'z', 'h', 'k'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step === 'task') history.writer.recordTask(task('a'));
        else relate(history, step, 'a', 'group');
      }
      expect((await history.reader.getTask('a', CONTEXT))?.groupId).toBe('h');
      expect(idsOf((await page(history, { groupId: 'z' })).tasks)).toEqual([]);
      expect(await shownOf(history, 'a')).toEqual(['h-group-a', 'k-group-a', 'z-group-a']);
    }
  });
});

describe('a chord', () => {
  it('has a body that waits for its header until it begins', async () => {
    const member = (id: string) => task(id, { chordId: 'body' });
    const history = historyOf([member('a'), member('b'), member('c'), task('body', { type: 'sent' })]);
    const waits = async () => (await history.reader.getTask('body', CONTEXT))?.waitsFor;
    expect(await waits()).toEqual({ relation: 'chord', done: 0, total: 3 });
    history.writer.recordTask(task('a', { type: 'succeeded' }));
    history.writer.recordTask(task('b', { type: 'failed' }));
    expect(await waits()).toEqual({ relation: 'chord', done: 2, total: 3 });
    expect((await history.reader.getTask('a', CONTEXT))?.waitsFor).toBeUndefined();
    history.writer.recordTask(task('body'));
    expect(await waits()).toBeUndefined();
  });

  it('becomes that of its header tasks, now or when they appear', async () => {
    for (const order of orders(['a', 'body', 'tell'])) {
      const history = historyOf([]);
      for (const step of order) {
        if (step !== 'tell') history.writer.recordTask(task(step));
        else for (const id of ['a', 'b']) relate(history, id, 'body', 'chord');
      }
      expect((await history.reader.getTask('a', CONTEXT))?.chordId).toBe('body');
      expect(await toldOf(history, 'body')).toEqual(['b-chord-body']);
      expect(await shownOf(history, 'a')).toEqual(['a-chord-body', 'b-chord-body']);
      expect(idsOf((await treeOf(history, 'body')).tasks).sort()).toEqual(['a', 'body']);
    }
  });

  it('says more than any other relation of the pair', async () => {
    for (const order of orders(['chain', 'chord'])) {
      const history = historyOf([task('a')]);
      for (const kind of order) relate(history, 'a', 'body', kind);
      expect(await shownOf(history, 'a')).toEqual(['a-chord-body']);
    }
    const history = historyOf([task('a', { chordId: 'body' })]);
    relate(history, 'a', 'body', 'chain');
    expect(await toldOf(history, 'a')).toEqual([]);
  });
});

describe('relations', () => {
  it('are bounded in number: the oldest go first', async () => {
    const history = historyOf([task('a')], { maxTasks: 10 });
    for (let n = 0; n < 50; n++) relate(history, 'a', `c${n}`, 'child');
    const told = await toldOf(history, 'a');
    expect(told).toHaveLength(20);
    expect(told).toContain('a-child-c49');
    expect(told).not.toContain('a-child-c29');
  });

  it('are bounded in bytes, which are counted', async () => {
    const history = historyOf([task('a')], { maxBytes: 1024 * 1024 });
    const { bytes: before } = await history.reader.getStats(CONTEXT);
    for (let n = 0; n < 3_000; n++) relate(history, 'a', `${n}`.padStart(500, 'x'), 'child');
    const { bytes, tasks } = await history.reader.getStats(CONTEXT);
    expect(bytes - before).toBeGreaterThan(200_000);
    expect(bytes - before).toBeLessThan(256 * 1024);
    expect(tasks).toBe(1);
  });

  it('go with their tasks when both ends are gone', async () => {
    const history = historyOf([task('a'), task('b', { time: T0 + 1 })], { maxTasks: 2 });
    relate(history, 'a', 'b', 'chain');
    relate(history, 'g', 'a', 'group');
    const { bytes: both } = await history.reader.getStats(CONTEXT);
    history.writer.recordTask(task('c', { time: T0 + 2 }));
    expect(await toldOf(history, 'b')).toEqual(['a-chain-b']);
    const { bytes: one } = await history.reader.getStats(CONTEXT);
    expect(both - one).toBeGreaterThan(200);
    history.writer.recordTask(task('d', { time: T0 + 3 }));
    const { bytes: none, tasks } = await history.reader.getStats(CONTEXT);
    expect(tasks).toBe(2);
    expect(one - none).toBeGreaterThan(200);
    history.writer.recordTask(task('e', { id: 'b', time: T0 + 9 }));
    expect(await toldOf(history, 'b')).toEqual([]);
  });

  it('of a large workflow are told as far as it is', async () => {
    const history = historyOf([task('a')]);
    for (let n = 0; n < 25_000; n++) relate(history, 'g', `m${n}`, 'group');
    relate(history, 'g', 'a', 'group');
    const tree = await treeOf(history, 'a');
    expect(tree.truncated).toBe(true);
    expect(tree.relations).toHaveLength(19_999);
  });

  it('are gone when the history is closed', async () => {
    const history = historyOf([task('a')]);
    relate(history, 'a', 'b', 'chain');
    history.close();
    relate(history, 'a', 'c', 'chain');
    expect(await history.reader.getStats(CONTEXT)).toMatchObject({ tasks: 0, bytes: expect.any(Number) });
    expect(await history.reader.getTaskTree('a', CONTEXT)).toBeNull();
  });
});
