/** Row 14: workflows that go in circles, lead nowhere, or have no end. */
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

/** More than the sources of this library give: only a host's own could. */
const MANY = 100_000;
const SHAPES: Readonly<Record<string, (index: number) => Partial<Task>>> = {
  'a tree': (index) => ({ parentId: index === 0 ? null : `t${(index - 1) >> 1}` }),
  'a chain': (index) => ({ parentId: index === 0 ? null : `t${index - 1}` }),
  'a circle': (index) => ({ parentId: `t${(index + 1) % MANY}` }),
  'a group with a body': () => ({ groupId: 'g', chordId: 'body' }),
};

for (const [name, shape] of Object.entries(SHAPES)) {
  faultCase(14, `${name} of ${MANY} tasks`, async (bench) => {
    const { held, host } = await serveTree(bench);
    const tasks = Array.from({ length: MANY }, (_, index) => ({
      id: `t${index}`,
      state: 'SUCCESS',
      ...shape(index),
    }));
    held.tree = { rootId: 't0', tasks };
    const expected = { status: 200, aimMs: 3_000 };
    const { body } = await bench.expectAnswer<GraphBody>(host, '/api/tasks/t0/graph/', expected);
    expect(body.meta).toMatchObject({ truncated: true, node_count: 5_000, counts: { total: MANY } });
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
