import { describe, expect, it } from 'vitest';
import type { Task, TaskRelation, TaskTree } from '../../src/model.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { buildGraph, isComplete, relationsOf } from './graph-kit.ts';

const task = (id: string, more: Partial<Task> = {}): Task => ({ id, state: 'SUCCESS', ...more });
const treeOf = (tasks: readonly Task[], relations: readonly TaskRelation[] = []): TaskTree => ({
  rootId: tasks[0]?.id ?? '',
  tasks,
  relations,
});
const graphOf = (tree: TaskTree, asked = tree.rootId, limit = 5_000) => buildGraph(tree, asked, limit);
const edgesOf = (tree: TaskTree) => graphOf(tree).edges.map(({ id }) => id);

describe('the graph of a workflow', () => {
  it('links a parent with its child', () => {
    const graph = graphOf(treeOf([task('a'), task('b', { parentId: 'a' })]));
    expect(graph.edges).toEqual([{ id: 'a->b:child', source: 'a', target: 'b', kind: 'child' }]);
    expect(graph.nodes.map(({ id, kind }) => [id, kind])).toEqual([
      ['a', null],
      ['b', null],
    ]);
  });

  it('counts a task whose end was not seen as ended', () => {
    const started = task('a', { state: 'STARTED' });
    expect(graphOf(treeOf([started])).isComplete).toBe(false);
    const graph = graphOf(treeOf([{ ...started, flags: ['end_unseen'] }, task('b', { parentId: 'a' })]));
    expect(graph.isComplete).toBe(true);
  });

  it('counts a task whose end was not seen in no state, nor does its group', () => {
    const member = task('a', { state: 'STARTED', groupId: 'g' });
    const tree = treeOf([{ ...member, flags: ['end_unseen'] }, task('b', { groupId: 'g' })]);
    const { counts, nodes } = graphOf(tree);
    expect(counts).toMatchObject({ total: 1, running: 0, success: 1 });
    expect(nodes.find(({ id }) => id === 'g')?.members).toMatchObject({ total: 1, running: 0, success: 1 });
  });

  it('counts a failure once where another task failed because of it', () => {
    const failed = task('a', { state: 'FAILURE', groupId: 'g', chordId: 'body' });
    const body = task('body', { state: 'FAILURE', flags: ['consequence'] });
    expect(graphOf(treeOf([failed, body])).counts).toMatchObject({ total: 1, failure: 1 });
  });

  it('names an edge by the most telling relation known', () => {
    const tasks = [task('a'), ...['b', 'c', 'd'].map((id) => task(id, { parentId: 'a' }))];
    const relations = [
      { parent: 'a', child: 'b', relation: 'chain' },
      { parent: 'a', child: 'b', relation: 'child' },
      { parent: 'a', child: 'c', relation: 'link_error' },
      { parent: 'a', child: 'c', relation: 'link' },
      // Of a kind that the engine alone knows.
      { parent: 'a', child: 'd', relation: 'sibling' },
      { parent: 'a', child: 'e', relation: 'chunks' },
      { parent: 'a', child: 'e', relation: 'sibling' },
    ];
    expect(edgesOf(treeOf(tasks, relations))).toEqual([
      ...['a->b:chain', 'a->c:link_error', 'a->d:sibling', 'a->e:chunks'],
    ]);
  });

  it('shows a group as a node with its members, beside their parent', () => {
    const tasks = [
      task('p'),
      task('m1', { parentId: 'p', groupId: 'g' }),
      task('m2', { parentId: 'p', groupId: 'g', state: 'STARTED' }),
    ];
    const graph = graphOf(treeOf(tasks));
    expect(graph.edges.map(({ id }) => id).sort()).toEqual([
      'g->m1:group',
      'g->m2:group',
      'p->m1:child',
      'p->m2:child',
    ]);
    const group = graph.nodes.find(({ id }) => id === 'g');
    expect(group).toEqual({
      id: 'g',
      task: null,
      kind: 'group',
      members: { total: 2, pending: 0, running: 1, retry: 0, success: 1, failure: 0, revoked: 0 },
    });
  });

  it('shows a chord whose body has not been seen as a node, and as the task once it has', () => {
    const header = [
      task('h1', { groupId: 'g', chordId: 'body' }),
      task('h2', { groupId: 'g', chordId: 'body', state: 'PENDING' }),
    ];
    const waiting = graphOf(treeOf(header));
    expect(waiting.nodes.find(({ id }) => id === 'body')).toMatchObject({
      kind: 'chord',
      task: null,
      members: { total: 2, success: 1, pending: 1 },
    });
    expect(waiting.isComplete).toBe(false);
    const body = task('body', { parentId: 'h2', groupId: 'g' });
    const done = graphOf(
      treeOf([
        task('h1', { groupId: 'g', chordId: 'body' }),
        task('h2', { groupId: 'g', chordId: 'body' }),
        body,
      ]),
    );
    expect(done.nodes.find(({ id }) => id === 'body')).toMatchObject({
      kind: null,
      task: body,
      members: null,
    });
    expect(done.edges.map(({ id }) => id).sort()).toEqual([
      'g->h1:group',
      'g->h2:group',
      'h1->body:chord',
      'h2->body:chord',
    ]);
    expect(done.isComplete).toBe(true);
    expect([isComplete(treeOf(header)), isComplete(treeOf([body]))]).toEqual([false, true]);
  });

  it('has no member of a group that runs behind another one: Celery 5.6 gives the last step of a body the group', () => {
    const header = [task('h1', { groupId: 'g' }), task('h2', { groupId: 'g' })];
    const body = [task('body', { parentId: 'h2' }), task('last', { parentId: 'body', groupId: 'g' })];
    expect(edgesOf(treeOf([...header, ...body]))).toEqual([
      'g->h1:group',
      'g->h2:group',
      'h2->body:child',
      'body->last:child',
    ]);
    // The last step of a member that replaced itself with a chain has its id.
    const replaced = [task('h1', { groupId: 'g', parentId: 'step' }), task('step', { parentId: 'h1' })];
    expect(edgesOf(treeOf(replaced))).toContain('g->h1:group');
  });

  it('has a node for a parent that is known by its id alone', () => {
    const graph = graphOf(treeOf([task('b', { parentId: 'gone' })]));
    expect(graph.nodes.map(({ id, task: seen, kind }) => [id, seen?.state ?? null, kind])).toEqual([
      ['b', 'SUCCESS', null],
      ['gone', null, null],
    ]);
    expect(graph.counts.total).toBe(1);
    expect(graph.isComplete).toBe(true);
  });

  it('ends at cycles and never points from a task to itself', () => {
    const tasks = [task('a', { parentId: 'b' }), task('b', { parentId: 'a' }), task('c', { parentId: 'c' })];
    expect(edgesOf(treeOf(tasks)).sort()).toEqual(['a->b:child', 'b->a:child']);
  });

  it('keeps the nearest relatives above the limit, and the first members of a group', () => {
    const members = Array.from({ length: 20 }, (_, n) => task(`m${n}`, { groupId: 'g', parentId: 'p' }));
    const far = task('far', { parentId: 'm0' });
    const graph = buildGraph(treeOf([task('p'), ...members, far]), 'p', 8);
    expect(graph.nodes.map(({ id }) => id)).toEqual(['p', 'm0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6']);
    expect(graph).toMatchObject({ isTruncated: true, counts: { total: 22 } });
    for (const { source, target } of graph.edges) {
      expect(graph.nodes.some(({ id }) => id === source)).toBe(true);
      expect(graph.nodes.some(({ id }) => id === target)).toBe(true);
    }
    expect(buildGraph(treeOf([task('p'), ...members, far]), 'p', 23)).toMatchObject({ isTruncated: false });
  });

  it('has edges and relations that tell the same', () => {
    const tree = treeOf(
      [task('a'), task('b', { parentId: 'a', groupId: 'g' }), task('c', { groupId: 'g', chordId: 'd' })],
      [{ parent: 'a', child: 'b', relation: 'map' }],
    );
    const relations = relationsOf(tree).map(
      ({ parent, child, relation }) => `${parent}->${child}:${relation}`,
    );
    expect(relations).toEqual(edgesOf(tree));
  });

  it('takes ids that look like properties of objects', () => {
    const tasks = ['__proto__', 'constructor', 'toString'].map((id) => task(id, { groupId: '__proto__' }));
    const graph = graphOf(treeOf(tasks));
    expect(graph.nodes).toHaveLength(3);
    expect(graph.edges.map(({ id }) => id)).toEqual([
      '__proto__->constructor:group',
      '__proto__->toString:group',
    ]);
  });

  it('is made of 10,000 tasks in well under a second', () => {
    const tasks = Array.from({ length: 10_000 }, (_, n) =>
      task(`t${n}`, n === 0 ? {} : { parentId: `t${(n - 1) >> 2}`, groupId: `g${n >> 5}` }),
    );
    const start = cpuMs();
    const graph = graphOf(treeOf(tasks), 't0', 20_000);
    // The aim is 100 ms.
    expect(cpuMs() - start).toBeLessThan(1_000);
    expect(graph.nodes.length).toBeGreaterThan(10_000);
  });
});

describe('states', () => {
  it('are counted in their buckets, those that nobody knows as running', () => {
    const states = [
      'PENDING',
      'RECEIVED',
      'STARTED',
      'PROGRESS',
      'toString',
      'RETRY',
      'SUCCESS',
      'FAILURE',
      'REVOKED',
      'REJECTED',
    ];
    const { counts } = graphOf(treeOf(states.map((state, index) => task(`t${index}`, { state }))));
    expect(counts).toEqual({
      total: 10,
      pending: 2,
      running: 3,
      retry: 1,
      success: 1,
      failure: 1,
      revoked: 2,
    });
  });
});

describe('a flow', () => {
  const tasks: Task[] = [
    { id: 'parent', state: 'PENDING' },
    { id: 'one', state: 'SUCCESS', parentId: 'parent' },
    { id: 'two', state: 'STARTED', parentId: 'parent' },
  ];

  it('leads from children to their parent, which runs after them', () => {
    const relations = [{ parent: 'one', child: 'parent', relation: 'flow' }];
    const { edges } = buildGraph({ rootId: 'parent', tasks, relations }, 'parent', 10);
    expect(edges.map(({ id }) => id).toSorted()).toEqual(['one->parent:flow', 'parent->two:child']);
  });
});

describe('the body of a chord', () => {
  it('is no member of its header, whoever tells of it', () => {
    const relations = [
      { parent: 'g', child: 'h', relation: 'group' },
      { parent: 'h', child: 'b', relation: 'chord' },
    ];
    const tasks: Task[] = [{ id: 'b', state: 'PENDING', groupId: 'g', parentId: 'h' }];
    const { edges } = buildGraph({ rootId: 'b', tasks, relations }, 'b', 10);
    expect(edges.map(({ id }) => id).sort()).toEqual(['g->h:group', 'h->b:chord']);
  });

  it('is no member of its header if it is a chain, whose last step has its group', () => {
    const tasks: Task[] = [
      { id: 'h', state: 'SUCCESS', groupId: 'g', chordId: 'b' },
      { id: 'b', state: 'SUCCESS', parentId: 'h' },
      { id: 'next', state: 'SUCCESS', parentId: 'b' },
      { id: 'last', state: 'SUCCESS', parentId: 'next', groupId: 'g' },
    ];
    const { edges } = buildGraph({ rootId: 'h', tasks }, 'h', 10);
    const kinds = ['b->next:child', 'g->h:group', 'h->b:chord', 'next->last:child'];
    expect(edges.map(({ id }) => id).sort()).toEqual(kinds);
  });

  it('is the parent of its header if a task replaced itself with the chord', () => {
    const tasks: Task[] = [
      { id: 'b', state: 'SUCCESS', parentId: 'h' },
      { id: 'h', state: 'SUCCESS', parentId: 'b', groupId: 'g', chordId: 'b' },
    ];
    const { edges } = buildGraph({ rootId: 'b', tasks }, 'b', 10);
    expect(edges.map(({ id }) => id)).toContain('g->h:group');
  });
});

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
