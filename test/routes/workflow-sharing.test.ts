import { get as httpGet } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Task, TaskTree } from '../../src/index.ts';
import type { GraphBody, GraphUpdatesBody, RelationsBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { at, createShop } from '../router/shop-sources.ts';

const PATH = '/api/tasks/t0/';

/** A workflow whose tasks count how often their place in it is read: once in each graph that is built. */
function counted(many: number) {
  const shop = createShop(0);
  shop.status = { ok: true, asOf: at(0), revision: 1 };
  const seen = { reads: 0, links: 0, signal: new AbortController().signal };
  const tasks: Task[] = Array.from({ length: many }, (_, index) => ({
    id: `t${index}`,
    state: 'STARTED',
    name: 'shop.pay',
    args: `(${index}, 'blé')`,
    parentId: index === 0 ? null : `t${(index - 1) >> 2}`,
    get groupId() {
      seen.links += 1;
      return index > 0 && index % 3 === 0 ? `g${index % 5}` : null;
    },
  }));
  const held: { read(): TaskTree | Promise<TaskTree> } = { read: () => ({ rootId: 't0', tasks }) };
  const sources = {
    tasks: {
      ...shop.sources.tasks,
      getTaskTree(_id: string, { signal }: { readonly signal: AbortSignal }) {
        seen.reads += 1;
        seen.signal = signal;
        return held.read();
      },
    },
  };
  return { shop, seen, tasks, held, sources };
}

/** Waits until no graph is built any more: a whole other one was built, and no task of the first was looked at. */
async function idle(seen: { readonly links: number }, buildOther: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    const before = seen.links;
    await buildOther();
    return seen.links === before;
  });
}

/** A workflow whose tasks nobody counts. */
const other = (): TaskTree => ({
  rootId: 't0',
  tasks: Array.from({ length: 2_000 }, (_, at) => ({ id: `t${at}`, state: 'STARTED', parentId: 't0' })),
});

describe('one graph of a workflow', () => {
  it('serves every limit, its relations and its updates at the same time, and again while nothing changes', async () => {
    const { seen, sources } = counted(500);
    const { get } = await serve(EXPRESS, { sources });
    const paths = Array.from({ length: 12 }, (_, index) => [
      `${PATH}graph/?limit=${200 + index * 31}`,
      `${PATH}graph/updates/?limit=${200 + index * 31}`,
      `${PATH}relations/`,
    ]).flat();
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all(paths.map((path) => get(path)));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
      expect(seen).toMatchObject({ reads: 1, links: 500 });
    }
  });

  it('serves the relations of all its tasks, and only the graphs of the task that it was read for', async () => {
    const { tasks, seen, sources } = counted(200);
    for (const [index, task] of tasks.entries()) if (index !== 7) Object.assign(task, { rootId: 't0' });
    const { get } = await serve(EXPRESS, { sources });
    const readRelations = async (id: string) =>
      (await get<RelationsBody>(`/api/tasks/${id}/relations/`)).body;
    const first = await readRelations('t0');
    expect(await readRelations('t9')).toEqual({ ...first, task_id: 't9' });
    expect(await readRelations('t199')).toEqual({ ...first, task_id: 't199' });
    expect(seen.reads).toBe(1);
    // Its root is not known from another task.
    await readRelations('t7');
    expect(seen.reads).toBe(2);
    const graph = (await get<GraphBody>('/api/tasks/t9/graph/')).body;
    expect(graph.nodes[0]?.id).toBe('t9');
    expect(seen.reads).toBe(3);
    // Both at the same time.
    const ids = Array.from({ length: 20 }, (_, index) => `t${index + 20}`);
    const graphs = await Promise.all(
      ids.flatMap((id) => [readRelations(id), get<GraphBody>(`/api/tasks/${id}/graph/?limit=1`)]),
    );
    const firstIds = graphs.flatMap((one) => ('body' in one ? one.body.nodes.map(({ id }) => id) : []));
    expect(firstIds).toEqual(ids);
  });

  it('is built again when the source reports a change, and for each request of a source that reports nothing', async () => {
    const { shop, seen, sources } = counted(50);
    const { get } = await serve(EXPRESS, { sources });
    await get(`${PATH}graph/`);
    shop.status = { ok: true, asOf: at(1), revision: 2 };
    await get(`${PATH}graph/?limit=9`);
    expect(seen.reads).toBe(2);
    shop.status = { ok: true, asOf: at(1) };
    await get(`${PATH}graph/?limit=9`);
    await get(`${PATH}graph/?limit=9`);
    expect(seen.reads).toBe(4);
  });

  it('is cut to the same bodies as the whole one, whatever was asked for before', async () => {
    const { sources } = counted(900);
    const { get } = await serve(EXPRESS, { sources });
    const limits = [1, 899, 5, 700, 300, 2, 904, 905, 906, 450, 20_000];
    const bodies = await Promise.all(
      limits.map(async (limit) => ({
        limit,
        graph: (await get<GraphBody>(`${PATH}graph/?limit=${limit}`)).body,
        updates: (await get<GraphUpdatesBody>(`${PATH}graph/updates/?limit=${limit}`)).body,
      })),
    );
    const whole = bodies.at(-1)?.graph as GraphBody;
    const { relations } = (await get<RelationsBody>(`${PATH}relations/`)).body;
    expect(whole.edges.map(({ source, target, kind }) => [source, target, kind])).toEqual(
      relations.map(({ parent, child, relation }) => [parent, child, relation]),
    );
    for (const { limit, graph, updates } of bodies) {
      const nodes = whole.nodes.slice(0, limit);
      const ids = new Set(nodes.map(({ id }) => id));
      const edges = whole.edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
      expect(graph.nodes).toEqual(nodes);
      expect(graph.edges).toEqual(edges);
      expect(graph.meta).toMatchObject({
        counts: whole.meta.counts,
        node_count: nodes.length,
        edge_count: edges.length,
        truncated: limit < whole.nodes.length,
      });
      expect(updates).toMatchObject({ node_count: nodes.length, edge_count: edges.length });
      expect(updates.node_updates.map(({ id }) => id)).toEqual([...ids]);
    }
  });

  it('never shows a request what was read before the latest change', async () => {
    const { shop, seen, tasks, held, sources } = counted(10);
    const { get } = await serve(EXPRESS, { sources });
    const waiting: (() => void)[] = [];
    held.read = () => {
      const tree = { rootId: 't0', tasks: [...tasks] };
      return new Promise((resolve) => waiting.push(() => resolve(tree)));
    };
    const statesOf = async (limit: number): Promise<number> =>
      (await get<GraphBody>(`${PATH}graph/?limit=${limit}`)).body.meta.counts.success;
    const early = statesOf(1);
    await until(() => waiting.length === 1);
    tasks[3] = { id: 't3', state: 'SUCCESS', parentId: 't0' };
    shop.status = { ok: true, asOf: at(1), revision: 2 };
    const late = [2, 3, 4].map(statesOf);
    // All three have been received when a later request is answered.
    await get('/api/tasks/');
    waiting[0]?.();
    expect(await early).toBe(0);
    await until(() => waiting.length === 2);
    waiting[1]?.();
    expect(await Promise.all(late)).toEqual([1, 1, 1]);
    expect(seen.reads).toBe(2);
  });
});

describe('work on a graph', () => {
  it('stops when the last client has left, and goes on while another one waits', async () => {
    const { seen, tasks, held, sources } = counted(20_000);
    const { base, get } = await serve(EXPRESS, { sources });
    const begin = (limit: number) => {
      const request = httpGet(`${base}${PATH}graph/?limit=${limit}`);
      request.on('error', () => {});
      return request;
    };
    const started: (() => void)[] = [];
    held.read = () => new Promise((resolve) => started.push(() => resolve({ rootId: 't0', tasks })));
    const first = begin(1);
    const second = begin(2);
    await until(() => started.length === 1);
    await get('/api/tasks/');
    const { signal } = seen;
    first.destroy();
    await get('/api/tasks/');
    expect(signal.aborted).toBe(false);
    second.destroy();
    await until(() => signal.aborted);
    started[0]?.();
    held.read = other;
    await idle(seen, () => get(`${PATH}graph/?limit=3`));
    expect(seen.links).toBe(0);
    expect(await get('/api/tasks/')).toMatchObject({ status: 200 });
  });

  it('stops in the middle of a graph', async () => {
    const { seen, tasks, held, sources } = counted(100_000);
    const { base, get } = await serve(EXPRESS, { sources });
    const request = httpGet(`${base}${PATH}graph/`);
    request.on('error', () => {});
    Object.defineProperty(tasks[500], 'chordId', {
      get() {
        request.destroy();
        return null;
      },
    });
    held.read = () => ({ rootId: 't0', tasks });
    await until(() => seen.links > 500);
    held.read = other;
    await idle(seen, () => get(`${PATH}graph/?limit=3`));
    expect(seen.links).toBeLessThan(100_000);
  });
});
