import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createFoundTasks, type FoundTasks } from '../../src/sources/celery/results/found-tasks.ts';

function found(): FoundTasks {
  return createFoundTasks(100);
}

function add(tasks: FoundTasks, id: string, more: Partial<TaskChange> = {}): void {
  const change: TaskChange = { id, type: 'succeeded', time: 1_000, origin: 'result', stored: true, ...more };
  tasks.add({ change, children: [] });
}

const idsOf = (tasks: FoundTasks, id: string): string[] | undefined =>
  tasks.getTaskTree(id)?.tasks.map((task) => task.id);

describe('tasks that only the backend knows', () => {
  it('are made of all results that were found of them', () => {
    const tasks = found();
    expect([tasks.getTask('a'), tasks.getTaskTree('a')]).toEqual([null, null]);
    const before = tasks.revision();
    add(tasks, 'a', { type: 'started', time: null, heardAt: 500, worker: 'w1@alpha' });
    add(tasks, 'a', { name: 'shop.add', result: '4' });
    expect(tasks.revision()).not.toBe(before);
    expect(tasks.getTask('a')).toMatchObject({
      state: 'SUCCESS',
      name: 'shop.add',
      worker: 'w1@alpha',
      result: '4',
      finished: new Date(1_000),
    });
  });

  it('are related by parents, groups and chords', () => {
    const tasks = found();
    add(tasks, 'root', { parentId: null });
    add(tasks, 'm1', { parentId: 'root', groupId: 'g', chordId: 'body' });
    add(tasks, 'm2', { groupId: 'g' });
    add(tasks, 'body', { parentId: 'm2' });
    add(tasks, 'stranger');
    for (const id of ['root', 'm1', 'm2', 'body']) {
      expect(idsOf(tasks, id)?.toSorted()).toEqual(['body', 'm1', 'm2', 'root']);
    }
    expect(idsOf(tasks, 'stranger')).toEqual(['stranger']);
    expect(tasks.getTaskTree('m1')?.rootId).toBe('root');
    expect(tasks.getTask('m1')).toMatchObject({ rootId: 'root', parentId: 'root' });
    expect(tasks.getTask('root')?.children).toEqual(['m1']);
  });

  it('may be their own ancestors', () => {
    const tasks = found();
    add(tasks, 'x', { parentId: 'y' });
    add(tasks, 'y', { parentId: 'x' });
    expect(idsOf(tasks, 'x')).toEqual(['x', 'y']);
    expect(tasks.getTask('x')?.rootId).toBeNull();
  });

  it('have no longer values than the history keeps, and are dropped when there are too many', () => {
    const tasks = found();
    add(tasks, 'long', { result: 'x'.repeat(1_000) });
    expect(tasks.getTask('long')).toMatchObject({ result: 'x'.repeat(100), truncated: ['result'] });
    for (let number = 0; number < 1_000; number += 1) add(tasks, `t${number}`);
    expect([tasks.getTask('long'), tasks.getTask('t0')?.state]).toEqual([null, 'SUCCESS']);
  });
});
