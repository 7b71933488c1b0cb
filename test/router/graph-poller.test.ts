import { describe, expect, it } from 'vitest';
import { type MemorySources, memorySources } from '../../src/memory.ts';
import type { GraphBody, GraphUpdatesBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from './host-kit.ts';

/**
 * The graph page of celery_root: it reads the graph once and then asks every two seconds for what changed
 * since the `generated_at` of the answer before. It knows no cursor.
 */
async function openPage({ get }: Host, taskId: string) {
  const read = async (): Promise<GraphBody> => (await get<GraphBody>(`/api/tasks/${taskId}/graph/`)).body;
  let graph = await read();
  let since = graph.meta.generated_at;
  let readings = 1;
  return {
    graph: () => graph,
    readings: () => readings,
    async tick(): Promise<GraphUpdatesBody> {
      const url = `/api/tasks/${taskId}/graph/updates/?since=${encodeURIComponent(since)}`;
      const { body } = await get<GraphUpdatesBody>(url);
      since = body.generated_at;
      const isOther =
        body.topology_changed ||
        body.node_count !== graph.meta.node_count ||
        body.edge_count !== graph.meta.edge_count;
      if (isOther) {
        graph = await read();
        since = graph.meta.generated_at;
        readings += 1;
        return body;
      }
      const updates = new Map(body.node_updates.map((update) => [update.id, update]));
      graph.nodes = graph.nodes.map((node) => ({ ...node, ...updates.get(node.id) }));
      graph.meta.counts = body.meta_counts;
      return body;
    },
  };
}

const statesOf = ({ nodes }: GraphBody): Record<string, string | null> =>
  Object.fromEntries(nodes.map(({ id, state }) => [id, state]));

describe('a page that polls the graph by generated_at alone', () => {
  async function opened(prepare: (queue: MemorySources) => void) {
    const queue = memorySources();
    prepare(queue);
    const host = await serve(EXPRESS, { sources: queue });
    return { queue, host, page: await openPage(host, 'a') };
  }

  it('shows what the graph shows, after every change, and reads it anew only when its shape has changed', async () => {
    const { queue, host, page } = await opened((fresh) => {
      fresh.record({ id: 'a', state: 'STARTED', name: 'shop.order' });
      fresh.record({ id: 'b', state: 'PENDING', name: 'shop.pay', parentId: 'a' });
    });
    const steps: readonly [change: () => void, reads: boolean][] = [
      [() => {}, false],
      [() => queue.record({ id: 'a', state: 'SUCCESS' }), false],
      [() => queue.record({ id: 'b', state: 'STARTED' }), false],
      [() => queue.record({ id: 'c', state: 'PENDING', name: 'shop.mail', parentId: 'b' }), true],
      [() => queue.record({ id: 'b', state: 'RETRY', retries: 1 }), false],
      [() => queue.record({ id: 'c', state: 'FAILURE' }), false],
      [() => {}, false],
    ];
    for (const [change, reads] of steps) {
      const before = page.readings();
      change();
      await page.tick();
      expect(page.readings() > before).toBe(reads);
      const { body } = await host.get<GraphBody>('/api/tasks/a/graph/');
      expect(statesOf(page.graph())).toEqual(statesOf(body));
      expect(page.graph().meta.counts).toEqual(body.meta.counts);
      expect([page.graph().meta.node_count, page.graph().meta.edge_count]).toEqual([
        body.nodes.length,
        body.edges.length,
      ]);
    }
  });

  it('stops when the workflow is complete, and misses nothing of a chord whose header failed', async () => {
    const member = (id: string, state: string) =>
      ({ id, state, name: 'shop.part', groupId: 'g', chordId: 'body' }) as const;
    const { queue, host, page } = await opened((fresh) => {
      fresh.record(member('a', 'STARTED'));
      fresh.record(member('b', 'STARTED'));
    });
    const changes = [
      () => queue.record(member('b', 'FAILURE')),
      // The header is not over yet: `a` still runs, and may be retried.
      () => queue.record({ ...member('a', 'RETRY'), retries: 1 }),
      () => queue.record(member('a', 'STARTED')),
      () => queue.record(member('a', 'SUCCESS')),
    ];
    const complete: boolean[] = [];
    for (const change of changes) {
      change();
      complete.push((await page.tick()).complete);
    }
    expect(complete).toEqual([false, false, false, true]);
    const shown = statesOf(page.graph());
    expect(shown).toMatchObject({ a: 'SUCCESS', b: 'FAILURE', body: null });
    const { body } = await host.get<GraphBody>('/api/tasks/a/graph/');
    expect(statesOf(body)).toEqual(shown);
    // Celery says of the body that never ran that it failed. Who polls on is told, and it stays complete.
    queue.record({ ...member('body', 'FAILURE'), groupId: null, chordId: null });
    expect(await page.tick()).toMatchObject({ complete: true, topology_changed: true });
    expect(statesOf(page.graph())).toMatchObject({ a: 'SUCCESS', b: 'FAILURE', body: 'FAILURE' });
  });

  it('is told nothing while nothing changes', async () => {
    const { page } = await opened((fresh) => fresh.record({ id: 'a', state: 'STARTED' }));
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await page.tick()).toMatchObject({ node_updates: [], topology_changed: false });
    }
  });
});
