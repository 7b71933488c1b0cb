import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Task, TaskRelation, TaskTree } from '../../src/model.ts';
import { buildGraph, isComplete, relationsOf } from './graph-kit.ts';
import { plainGraph } from './plain-graph.ts';

fc.configureGlobal({ seed: 17, numRuns: 500 });

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', '__proto__', 'a->b:child');
const reference = fc.option(id, { nil: null, freq: 2 });
const task: fc.Arbitrary<Task> = fc.record({
  id,
  state: fc.constantFrom('PENDING', 'STARTED', 'SUCCESS', 'REVOKED', 'PROGRESS'),
  parentId: reference,
  rootId: reference,
  groupId: fc.option(fc.constantFrom('a', 'G1', 'G2'), { nil: null, freq: 2 }),
  chordId: reference,
});
const kind = fc.constantFrom(
  ...['chain', 'link', 'link_error', 'group', 'chord', 'map', 'child', 'flow', 'sibling'],
);
const relation: fc.Arbitrary<TaskRelation> = fc.record({ parent: reference, child: id, relation: kind });
const tree: fc.Arbitrary<TaskTree> = fc.record({
  rootId: id,
  tasks: fc.uniqueArray(task, { maxLength: 8, selector: (one) => one.id }),
  relations: fc.array(relation, { maxLength: 5 }),
});
const asked = fc.tuple(tree, fc.nat()).filter(([{ tasks }]) => tasks.length > 0);
const askedOf = ({ tasks }: TaskTree, which: number): string => tasks[which % tasks.length]?.id ?? '';

describe('the graph of any tree', () => {
  it('equals the one that is computed in one piece, at every limit', () => {
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 12 }), ([held, which], limit) => {
        const id = askedOf(held, which);
        const plain = plainGraph(held, id, limit);
        expect(buildGraph(held, id, limit)).toEqual(plain);
        // The host allows no more.
        expect(buildGraph(held, id, 100, limit)).toEqual(plain);
      }),
    );
  });

  it('has edges between its own nodes, one between two of them beside a group', () => {
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 12 }), ([held, which], limit) => {
        const { nodes, edges } = buildGraph(held, askedOf(held, which), limit);
        const ids = new Set(nodes.map((node) => node.id));
        expect(ids.size).toBe(nodes.length);
        expect(nodes.length).toBeLessThanOrEqual(limit);
        if (nodes.length > 1) expect(edges.length).toBeGreaterThan(0);
        for (const { source, target, kind: sort, id: edge } of edges) {
          expect(ids.has(source) && ids.has(target) && source !== target).toBe(true);
          expect(edge).toBe(`${source}->${target}:${sort}`);
        }
        const pairs = edges.map(({ source, target, kind: sort }) =>
          JSON.stringify([source, target, sort === 'group']),
        );
        expect(new Set(pairs).size).toBe(pairs.length);
      }),
    );
  });

  it('tells what the relations tell', () => {
    fc.assert(
      fc.property(asked, ([held, which]) => {
        const { nodes, edges } = buildGraph(held, askedOf(held, which), 100);
        const ids = new Set(nodes.map((node) => node.id));
        const told = relationsOf(held).filter(({ parent, child }) => parent !== null && ids.has(child));
        expect(edges.map(({ source, target, kind: sort }) => [source, target, sort])).toEqual(
          told.map(({ parent, child, relation: sort }) => [parent, child, sort]),
        );
      }),
    );
  });

  it('shows every header of a chord with its body as a chord', () => {
    fc.assert(
      fc.property(asked, ([held, which]) => {
        const { nodes, edges } = buildGraph(held, askedOf(held, which), 100);
        const listed = new Set(nodes.map((node) => node.id));
        for (const { id: header, chordId } of held.tasks) {
          if (!listed.has(header) || chordId == null || chordId === header) continue;
          expect(edges).toContainEqual(
            expect.objectContaining({ source: header, target: chordId, kind: 'chord' }),
          );
          const body = nodes.find((node) => node.id === chordId);
          if (body?.kind === 'chord') expect(body.members?.total).toBeGreaterThan(0);
        }
      }),
    );
  });
});

describe('a tree with what cannot be read', () => {
  const good: Task = { id: 'a', state: 'SUCCESS', parentId: 'p' };
  const longest = 'l'.repeat(65_536);

  it('is shown without it', () => {
    const throwing = Object.defineProperty({ state: 'SUCCESS' }, 'id', {
      get() {
        throw new Error('no');
      },
    });
    const odd = { id: 'b', state: 'SUCCESS', parentId: 7, groupId: {}, chordId: '', kind: 'group' };
    const long = { id: longest, state: 'SUCCESS', parentId: 'a', groupId: `${longest}l` };
    const held = {
      rootId: 'a',
      tasks: [null, 5, {}, { id: '', state: 'SUCCESS' }, { id: 'x' }, throwing, good, { ...good }, odd, long],
      relations: [
        null,
        {},
        { parent: 'a', child: 'b', relation: 'link' },
        { parent: 1, child: 2, relation: 3 },
      ],
    } as unknown as TaskTree;
    expect(relationsOf(held)).toEqual([
      { parent: 'p', child: 'a', relation: 'child' },
      { parent: 'a', child: longest, relation: 'child' },
      { parent: 'a', child: 'b', relation: 'link' },
    ]);
    const { nodes, edges } = buildGraph(held, 'a', 10);
    expect(nodes.map(({ id: node, kind: sort }) => [node, sort])).toEqual([
      ['a', null],
      ['p', null],
      [longest, null],
      ['b', null],
    ]);
    expect(edges.map((edge) => edge.target)).toEqual(['a', longest, 'b']);
    expect(isComplete(held)).toBe(true);
  });

  it('is shown with what could be read first, when later reads throw or say something else', () => {
    let reads = 0;
    const fickle = {
      get id() {
        reads += 1;
        if (reads > 1) throw new Error('no');
        return 'b';
      },
      get state() {
        return reads === 1 ? 'SUCCESS' : 7;
      },
      parentId: 'a',
      get kind() {
        throw new Error('no');
      },
      get flags() {
        throw new Error('no');
      },
    } as unknown as Task;
    const { nodes, edges, counts } = buildGraph({ rootId: 'a', tasks: [good, fickle] }, 'a', 10);
    expect(nodes.map(({ id: node, kind: sort }) => [node, sort])).toEqual([
      ['a', null],
      ['p', null],
      ['b', null],
    ]);
    expect(edges.map((edge) => edge.id)).toEqual(['p->a:child', 'a->b:child']);
    expect(counts).toMatchObject({ total: 2, success: 2 });
  });
});
