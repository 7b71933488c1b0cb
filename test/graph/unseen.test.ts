import { describe, expect, it } from 'vitest';
import type { Task, TaskRelation, TaskTree } from '../../src/model.ts';
import { buildGraph, isComplete } from './graph-kit.ts';

describe('a workflow of which something has not been seen', () => {
  const a = (state: string): Task => ({ id: 'a', state });
  const isOver = (state: string, relation: string): boolean => {
    const tree = { rootId: 'a', tasks: [a(state)], relations: [{ parent: 'a', child: 'b', relation }] };
    return buildGraph(tree, 'a', 10).isComplete && isComplete(tree);
  };

  it.each([
    ['SUCCESS', 'chain', false],
    ['FAILURE', 'chain', true],
    ['FAILURE', 'chord', true],
    ['SUCCESS', 'chord', false],
    ['REVOKED', 'link', true],
    ['SUCCESS', 'link', false],
    ['SUCCESS', 'link_error', true],
    ['FAILURE', 'link_error', false],
    ['REVOKED', 'link_error', true],
    ['STARTED', 'link_error', false],
    ['SUCCESS', 'child', false],
    ['FAILURE', 'child', false],
    ['SUCCESS', 'flow', true],
    ['STARTED', 'flow', false],
  ])('of a task in %s, over a %s: ended is %s', (state, relation, expected) => {
    expect(isOver(state, relation)).toBe(expected);
  });

  it('has ended without the body of a chord whose header failed, and without what is behind it', () => {
    const header = (...states: string[]): Task[] =>
      states.map((state, index) => ({ id: `h${index}`, groupId: 'g', chordId: 'body', state }));
    const next: TaskRelation[] = [
      { parent: 'body', child: 'next', relation: 'chain' },
      { parent: 'next', child: 'last', relation: 'link' },
    ];
    const treeOf = (tasks: readonly Task[], relations = next): TaskTree => ({
      rootId: 'h0',
      tasks,
      relations,
    });
    for (const end of ['FAILURE', 'REVOKED', 'REJECTED'] as const) {
      expect(isComplete(treeOf(header('SUCCESS', end, 'SUCCESS')))).toBe(true);
    }
    expect(isComplete(treeOf(header('SUCCESS', 'SUCCESS')))).toBe(false);
    expect(isComplete(treeOf(header('STARTED', 'FAILURE')))).toBe(false);
    // The error callback of a body is called although the body never ran.
    expect(
      isComplete(treeOf(header('FAILURE'), [{ parent: 'body', child: 'e', relation: 'link_error' }])),
    ).toBe(false);
    const graph = buildGraph(treeOf(header('SUCCESS', 'FAILURE')), 'h0', 10);
    expect(graph.nodes.find(({ id }) => id === 'body')).toMatchObject({ kind: 'chord', task: null });
  });
});
