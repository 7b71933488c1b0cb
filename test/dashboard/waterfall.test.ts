import { describe, expect, it } from 'vitest';
import { branchesOf, outcomeOf } from '../../src/dashboard/workflow/outcome.ts';
import { type Opened, openedTo, rowsOf } from '../../src/dashboard/workflow/rows.ts';
import { type Tree, treeOf as treeSteps } from '../../src/dashboard/workflow/tree.ts';
import { factsOfFold } from '../../src/dashboard/workflow/words.ts';
import type { GraphEdgeBody, GraphNodeBody } from '../../src/wire.ts';
import { finish } from '../graph/graph-kit.ts';
import { edge, node } from './graph-parts.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const DEFAULTS: Opened = { others: 'tasks', rows: new Map(), listed: new Map() };

const treeOf = (...graph: [readonly GraphNodeBody[], readonly GraphEdgeBody[]]): Tree =>
  finish(treeSteps(...graph));

/** The rows as text: two spaces per level, the number of tasks behind several. */
function drawn(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  opened: Opened = DEFAULTS,
  isFailedOnly = false,
): readonly string[] {
  const tree = treeOf(nodes, edges);
  const branches = branchesOf(outcomeOf(nodes, edges, true).failed, tree.parentOf);
  const rows = rowsOf({ tree, opened, first: branches, only: isFailedOnly ? branches : null });
  return rows.map(({ kind, ids, depth }) => {
    const what = kind === 'task' ? ids[0] : `${kind} ${ids.length}`;
    return `${'  '.repeat(depth)}${what}`;
  });
}

describe('the rows of a waterfall', () => {
  it('stand below the task that sent them, in the order in which they were sent', () => {
    const nodes = [
      node('late', 'a.late', { sent_at: at(3) }),
      node('root', 'a.root', { sent_at: at(1) }),
      node('early', 'a.early', { sent_at: at(2) }),
      node('below', 'a.below', { sent_at: at(4) }),
    ];
    const edges = [edge('root', 'late'), edge('root', 'early'), edge('early', 'below', 'link')];
    expect(drawn(nodes, edges)).toEqual(['root', '  early', '    below', '  late']);
  });

  it('show the steps of a chain one after the other, also those that never ran', () => {
    const nodes = [
      node('root', 'a.root', { sent_at: at(1) }),
      node('one', 'a.one', { sent_at: at(2) }),
      node('two', null, { state: null }),
      node('three', null, { state: null }),
      node('other', 'a.other', { sent_at: at(9) }),
    ];
    const edges = [
      edge('root', 'one'),
      edge('two', 'three', 'chain'),
      edge('one', 'two', 'chain'),
      edge('root', 'other'),
    ];
    expect(drawn(nodes, edges)).toEqual(['root', '  one', '  two', '  three', '  other']);
  });

  it('show the body of a chord behind its header, and a group only where its members have no sender', () => {
    const header = range(3).map((index) => node(`h${index}`, 'a.part', { sent_at: at(2 + index) }));
    const group = node('g', null, { kind: 'group', state: null });
    const body = node('body', 'a.sum', { sent_at: at(20) });
    const edges = header.flatMap(({ id }) => [edge('g', id, 'group'), edge(id, 'body', 'chord')]);
    expect(drawn([group, body, ...header], edges)).toEqual(['g', '  h0', '  h1', '  h2', '  body']);
    const sender = node('s', 'a.sender', { sent_at: at(1) });
    const sent = [...edges, ...header.map(({ id }) => edge('s', id)), edge('h1', 'body', 'child')];
    expect(drawn([group, body, sender, ...header], sent)).toEqual(['s', '  h0', '  h1', '  h2', '  body']);
  });

  it('show the children of a flow below the job that waits for them', () => {
    const nodes = [node('child', 'a.page', { sent_at: at(1) }), node('parent', 'a.book', { sent_at: at(1) })];
    expect(drawn(nodes, [edge('child', 'parent', 'flow')])).toEqual(['parent', '  child']);
  });

  it('show each task once where relations run in circles', () => {
    const nodes = range(4).map((index) => node(`${index}`, 'a', { sent_at: at(index) }));
    const circle = range(4).map((index) => edge(`${index}`, `${(index + 1) % 4}`));
    expect(
      drawn(nodes, circle)
        .map((row) => row.trim())
        .toSorted(),
    ).toEqual(['0', '1', '2', '3']);
    const chain = range(4).map((index) => edge(`${index}`, `${(index + 1) % 4}`, 'chain'));
    expect(drawn(nodes, chain)).toEqual(['0', '1', '2', '3']);
  });

  it('show a chain of senders that is deeper than any call stack', () => {
    const nodes = range(20_000).map((index) => node(`${index}`, `a.${index}`, { sent_at: at(index) }));
    const edges = range(19_999).map((index) => edge(`${index}`, `${index + 1}`));
    expect(drawn(nodes, edges)).toHaveLength(20_000);
  });
});

const many = {
  nodes: [
    node('root', 'a.root', { sent_at: at(0) }),
    ...range(100).map((index) =>
      node(`m${index}`, 'a.many', {
        sent_at: at(index + 1),
        state: index % 50 === 7 ? 'FAILURE' : 'SUCCESS',
      }),
    ),
    ...range(5).map((index) => node(`f${index}`, 'a.few', { sent_at: at(200 + index) })),
  ],
  edges: [
    ...range(100).map((index) => edge('root', `m${index}`)),
    ...range(5).map((index) => edge('root', `f${index}`)),
  ],
};

describe('more than five siblings of one name', () => {
  const tree = treeOf(many.nodes, many.edges);
  const fold = tree.foldOf.get('m0') ?? '';

  it('are one row; five are not', () => {
    expect(drawn(many.nodes, many.edges)).toEqual([
      'root',
      '  fold 100',
      ...range(5).map((index) => `  f${index}`),
    ]);
  });

  it('list, once opened, those that failed, twenty others, and the way to the rest', () => {
    const open = { ...DEFAULTS, rows: new Map([[fold, true]]) };
    const rows = drawn(many.nodes, many.edges, open);
    expect(rows.slice(1, 5)).toEqual(['  fold 100', '    m7', '    m57', '    m0']);
    expect(rows.indexOf('    more 78')).toBe(24);
    const next = drawn(many.nodes, many.edges, { ...open, listed: new Map([[fold, 70]]) });
    expect(next.indexOf('    more 28')).toBe(74);
  });

  it('are opened on the way to one of them, also if all is closed', () => {
    const closed: Opened = { ...DEFAULTS, others: 'none' };
    expect(drawn(many.nodes, many.edges, closed)).toEqual(['root']);
    expect(drawn(many.nodes, many.edges, openedTo(closed, tree, 'm57'))).toContain('    m57');
  });

  it('are all open, or those alone that failed, with what is above them', () => {
    expect(drawn(many.nodes, many.edges, { ...DEFAULTS, others: 'all' })).toContain('    more 78');
    expect(drawn(many.nodes, many.edges, DEFAULTS, true)).toEqual(['root', '  m7', '  m57']);
  });

  it('are counted by what became of them', () => {
    const facts = factsOfFold(many.nodes.slice(1, 101), new Set(['m1', 'm2']));
    expect(facts).toMatchObject({ name: 'a.many', tone: 'failure', barTone: 'success', isFaded: false });
    expect(facts.state).toBe('2 failed, 2 never ran');
    const running = [
      node('r', 'a', { state: 'STARTED', started_at: at(1) }),
      ...many.nodes.slice(101),
      node('p', 'a', { state: 'PENDING' }),
    ];
    expect(factsOfFold(running, new Set()).state).toBe('1 running, 5 of 7 done');
    expect(factsOfFold(many.nodes.slice(101), new Set()).state).toBe('5 done');
  });
});

describe('the outcome of a workflow', () => {
  const first = node('first', 'a', { state: 'FAILURE', finished_at: at(5) });
  const second = node('second', 'b', { state: 'FAILURE', finished_at: at(9) });
  const body = node('body', 'c', { state: 'FAILURE', finished_at: at(1), flags: ['consequence'] });

  it('has as its root cause what failed first by itself', () => {
    const { cause, failed, idle } = outcomeOf([second, body, first], [], true);
    expect(cause?.id).toBe('first');
    expect([...failed].toSorted()).toEqual(['first', 'second']);
    expect([...idle]).toEqual(['body']);
    expect(outcomeOf([node('fine', 'a')], [], true).cause).toBeNull();
  });

  it('knows before the end of all which steps will never run', () => {
    const steps = [first, node('s1', null, { state: null }), node('s2', null, { state: null })];
    const ok = [node('ok', 'a'), node('next', null, { state: null })];
    const edges = [edge('first', 's1', 'chain'), edge('s1', 's2', 'link'), edge('ok', 'next', 'chain')];
    expect([...outcomeOf([...steps, ...ok], edges, false).idle]).toEqual(['s1', 's2']);
    expect(outcomeOf([...steps, ...ok], edges, true).idle.has('next')).toBe(true);
  });
});
