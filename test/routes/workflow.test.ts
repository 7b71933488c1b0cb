import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GraphBody, GraphUpdatesBody, ProblemBody, RelationsBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { at, createShop, START, shopTask } from '../router/shop-sources.ts';

/** A root with three children. */
function family() {
  const shop = createShop(0);
  shop.tasks = [1, 2, 3, 4].map((number) =>
    shopTask(number, {
      state: 'STARTED',
      rootId: 'task-0001',
      parentId: number === 1 ? null : 'task-0001',
    }),
  );
  return shop;
}

const PATH = '/api/tasks/task-0002/graph/';

afterEach(() => {
  vi.useRealTimers();
});

describe('the workflow of a task', () => {
  it('is told as relations', async () => {
    const { get } = await serve(EXPRESS, { sources: family().sources });
    const { body } = await get<RelationsBody>('/api/tasks/task-0002/relations/');
    expect(body).toMatchObject({ task_id: 'task-0002', root_id: 'task-0001' });
    expect(body.relations).toContainEqual({ parent: 'task-0001', child: 'task-0003', relation: 'child' });
  });

  it('is told as nodes and edges', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    const { get } = await serve(EXPRESS, { sources: family().sources });
    const { body } = await get<GraphBody>(PATH);
    expect(body.meta).toMatchObject({
      root_id: 'task-0001',
      generated_at: '2026-11-21T02:00:00.000Z',
      counts: { total: 4, running: 4 },
      node_count: 4,
      edge_count: 3,
      truncated: false,
    });
    expect(body.nodes.map(({ id }) => id).sort()).toEqual([
      'task-0001',
      'task-0002',
      'task-0003',
      'task-0004',
    ]);
    expect(body.edges.map(({ id }) => id)).toContain('task-0001->task-0002:child');
  });

  it('is cut at the limit, the nearest relatives first', async () => {
    const { get } = await serve(EXPRESS, { sources: family().sources });
    const { body } = await get<GraphBody>(`${PATH}?limit=2`);
    expect(body.nodes.map(({ id }) => id)).toEqual(['task-0002', 'task-0001']);
    expect(body.meta).toMatchObject({ truncated: true, node_count: 2, counts: { total: 4 } });
  });

  it('is followed from a cursor: only what changed is listed, and a new task says to read the graph again', async () => {
    const shop = family();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const { body: first } = await get<GraphBody>(PATH);
    const follow = async (since: string) =>
      (await get<GraphUpdatesBody>(`${PATH}updates/?since=${encodeURIComponent(since)}`)).body;

    const none = await follow(first.meta.cursor);
    expect(none).toMatchObject({ node_updates: [], topology_changed: false, complete: false, node_count: 4 });

    shop.tasks[2] = { ...shopTask(3), state: 'SUCCESS', rootId: 'task-0001', parentId: 'task-0001' };
    const one = await follow(none.cursor);
    expect(one.node_updates.map(({ id, state }) => [id, state])).toEqual([['task-0003', 'SUCCESS']]);
    expect(one).toMatchObject({ topology_changed: false, meta_counts: { success: 1, running: 3 } });
    expect((await follow(first.meta.cursor)).node_updates).toHaveLength(1);

    shop.tasks.push(shopTask(5, { rootId: 'task-0001', parentId: 'task-0003' }));
    expect(await follow(one.cursor)).toMatchObject({ topology_changed: true, node_count: 5 });
  });

  it('is followed from the moment of an answer, also of one that was given again', async () => {
    const shop = family();
    shop.status = { ok: true, asOf: at(0), revision: 1 };
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    await get<GraphBody>(PATH);
    vi.setSystemTime(START + 10_000);
    const { body: again } = await get<GraphBody>(PATH);
    expect(shop.calls.getTaskTree).toBe(1);
    expect(again.meta.generated_at).toBe('2026-11-21T02:00:10.000Z');
    vi.setSystemTime(START + 20_000);
    shop.tasks[3] = { ...shopTask(4), state: 'FAILURE', rootId: 'task-0001', parentId: 'task-0001' };
    shop.status = { ok: true, asOf: at(20), revision: 2 };
    const { body } = await get<GraphUpdatesBody>(`${PATH}updates/?since=${again.meta.generated_at}`);
    expect(body.node_updates.map(({ id }) => id)).toEqual(['task-0004']);
    expect(body.topology_changed).toBe(false);
  });

  it('is told whole to a client that comes without a place, or with one that nobody knows', async () => {
    const { get } = await serve(EXPRESS, { sources: family().sources });
    const { body: all } = await get<GraphUpdatesBody>(`${PATH}updates/`);
    expect(all.node_updates).toHaveLength(4);
    expect(all.topology_changed).toBe(false);
    const { body: other } = await (await serve(EXPRESS, { sources: family().sources })).get<GraphBody>(PATH);
    const { body: lost } = await get<GraphUpdatesBody>(`${PATH}updates/?since=${other.meta.cursor}`);
    expect(lost.node_updates).toHaveLength(4);
    expect(lost.topology_changed).toBe(true);
  });

  it('says when all of it has ended', async () => {
    const shop = family();
    shop.tasks = shop.tasks.map((task) => ({ ...task, state: 'SUCCESS' }));
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    expect((await get<GraphUpdatesBody>(`${PATH}updates/`)).body.complete).toBe(true);
  });

  it.each(['since=yesterday', 'since=', 'since=abc', 'limit=0', 'limit=20001'])(
    'refuses %s',
    async (query) => {
      const { get } = await serve(EXPRESS, { sources: family().sources });
      const { status, body } = await get<ProblemBody>(`${PATH}updates/?${query}`);
      expect([status, body.errors?.[0]?.parameter]).toEqual([400, query.split('=')[0]]);
    },
  );
});
