/** Row 14: workflows that go in circles, lead nowhere, or have no end. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Task, TaskTree } from '../../src/index.ts';
import type { GraphBody, GraphUpdatesBody } from '../../src/wire.ts';
import { createShop } from '../router/shop-sources.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

async function serveTree({ serve }: FaultBench) {
  const held: { tree: TaskTree } = { tree: { rootId: 'a', tasks: [] } };
  const tasks = { ...createShop().sources.tasks, getTaskTree: () => held.tree };
  return { held, host: await serve({ sources: { tasks }, timeoutMs: 60_000 }) };
}

const id = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'a->b:child', 'lost');
const reference = fc.option(id, { nil: null });
const task: fc.Arbitrary<Task> = fc.record({
  id,
  state: fc.constantFrom('PENDING', 'STARTED', 'SUCCESS'),
  parentId: reference,
  rootId: reference,
  groupId: reference,
  chordId: reference,
});
const relation = fc.record({
  parent: reference,
  child: id,
  relation: fc.constantFrom('chain', 'link', 'group', 'chord', 'child', 'own'),
});
// Ids come twice, relations too; parents are missing; edges lead to themselves and in circles.
const tree = fc.record({ rootId: id, tasks: fc.array(task), relations: fc.array(relation) });

faultCase(14, 'circles, self-edges, missing roots and parents, and duplicates', async (bench) => {
  const { held, host } = await serveTree(bench);
  await fc.assert(
    fc.asyncProperty(tree, fc.integer({ min: 1, max: 8 }), async (given, limit) => {
      held.tree = given;
      const path = `/api/tasks/a/graph/?limit=${limit}`;
      const { body } = await bench.expectAnswer<GraphBody>(host, path, { status: 200 });
      const ids = body.nodes.map((node) => node.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeLessThanOrEqual(limit);
      for (const { source, target } of body.edges) {
        expect(ids).toEqual(expect.arrayContaining([source, target]));
        expect(source).not.toBe(target);
      }
      expect(new Set(body.edges.map((edge) => edge.id)).size).toBe(body.edges.length);
      for (const rest of ['relations/', 'graph/updates/']) {
        await bench.expectAnswer(host, `/api/tasks/a/${rest}`, { status: 200 });
      }
    }),
    { numRuns: 100 },
  );
});

/** The largest workflow that the sources of this library give, and one that only a host's own could. */
const SIZES = [
  { many: 20_000, aimMs: 1_000 },
  { many: 100_000, aimMs: 3_000 },
];
const SHAPES: Readonly<Record<string, (index: number, many: number) => Partial<Task>>> = {
  'a tree': (index) => ({ parentId: index === 0 ? null : `t${(index - 1) >> 1}` }),
  'a chain': (index) => ({ parentId: index === 0 ? null : `t${index - 1}` }),
  'a circle': (index, many) => ({ parentId: `t${(index + 1) % many}` }),
  'a group with a body': () => ({ groupId: 'g', chordId: 'body' }),
};

for (const [name, shape] of Object.entries(SHAPES)) {
  for (const { many, aimMs } of SIZES)
    faultCase(14, `${name} of ${many} tasks`, async (bench) => {
      const { held, host } = await serveTree(bench);
      const tasks = Array.from({ length: many }, (_, index) => ({
        id: `t${index}`,
        state: 'SUCCESS',
        ...shape(index, many),
      }));
      held.tree = { rootId: 't0', tasks };
      const expected = { status: 200, aimMs };
      const { body } = await bench.expectAnswer<GraphBody>(host, '/api/tasks/t0/graph/', expected);
      expect(body.meta).toMatchObject({ truncated: true, node_count: 5_000, counts: { total: many } });
      expect(body.nodes).toHaveLength(5_000);
      expect(body.nodes[0]?.id).toBe('t0');
      const updates = await bench.expectAnswer<GraphUpdatesBody>(
        host,
        `/api/tasks/t0/graph/updates/?since=${body.meta.cursor}`,
        expected,
      );
      expect(updates.body).toMatchObject({ node_updates: [], topology_changed: false });
    });
}
