/** Row 12: names that every object has, where a source names things. */
import { expect, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { GraphBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { redisMissing, startRedis } from '../helpers/redis-server.ts';
import { until } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';
import { faultCase } from './kit/fault-case.ts';
import { prototypes } from './prototypes.ts';

const KEYS =
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","hasOwnProperty":0}';

faultCase(
  12,
  'members and ids that are named like those of every object',
  async ({ serve, expectAnswer }) => {
    const before = prototypes();
    const { sources } = createShop();
    const evil = JSON.parse(KEYS) as Record<string, unknown>;
    const ids = Object.keys(evil);
    const tasks = ids.map((id) => ({
      ...evil,
      id,
      name: id,
      state: id,
      worker: id,
      kwargs: evil,
      parentId: '__proto__',
    }));
    const component = { name: 'evil', enabled: true, status: 'up' as const, config: evil };
    const host = await serve({
      sources: {
        tasks: {
          ...sources.tasks,
          listTasks: () => ({ tasks, next: null, total: 4 }),
          getTask: (id) => ({ ...tasks[0], id, state: id, children: ids, timeline: [] }) as never,
          getTaskTree: () => ({ rootId: '__proto__', tasks }),
          getTaskStats: () =>
            ({ stepSeconds: 60, series: [], states: evil, names: [], workers: ids, queues: ids }) as never,
        },
        components: {
          ...sources.components,
          listComponents: () => ids.map((key) => ({ ...component, key })),
        },
      },
    });
    const list = await expectAnswer<TasksBody>(host, '/api/tasks/?stats=5', { status: 200 });
    expect(list.body.tasks.map(({ task_id, kwargs }) => [task_id, kwargs])).toEqual(
      ids.map((id) => [id, KEYS]),
    );
    expect(list.text).toContain('"states":{"hasOwnProperty":0}');
    for (const id of ids) {
      for (const rest of ['', 'graph/', 'relations/', 'graph/updates/']) {
        await expectAnswer(host, `/api/tasks/${id}/${rest}`, { status: 200 });
      }
    }
    const graph = await expectAnswer<GraphBody>(host, '/api/tasks/__proto__/graph/', { status: 200 });
    expect(graph.body.nodes.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const { text } = await expectAnswer(host, '/api/components/', { status: 200 });
    for (const id of ids) expect(text).toContain(`"shop.${id}":{"name":"evil"`);
    expect(text).toContain('"config":{"__proto__":{"polluted":1},"constructor":');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(prototypes()).toBe(before);
  },
);

faultCase(
  12,
  'a job whose Redis hash has such fields',
  async ({ serve, expectAnswer }) => {
    const before = prototypes();
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const { createClient } = await import('redis');
    const client = createClient({ url: redis.url() });
    client.on('error', () => {});
    await client.connect();
    onTestFinished(() => client.destroy());
    const hash = ['name', 'evil', 'data', KEYS, 'timestamp', '1795226400000', 'opts', '{}'];
    await client.sendCommand(['HSET', 'bull:q:meta', 'opts.maxLenEvents', '10000']);
    await client.sendCommand([
      'HSET',
      'bull:q:1',
      ...hash,
      '__proto__',
      'x',
      'constructor',
      'y',
      'toString',
      'z',
    ]);
    await client.sendCommand(['LPUSH', 'bull:q:wait', '1']);
    const sources = bullmqSources({ connection: redis.url() });
    const host = await serve({ sources });
    await until(async () => (await host.get('/api/tasks/')).status === 200);
    const { body } = await expectAnswer<TasksBody>(host, '/api/tasks/', { status: 200 });
    expect(body.tasks).toMatchObject([{ name: 'evil', state: 'PENDING', args: KEYS }]);
    const detail = `/api/tasks/${encodeURIComponent(body.tasks[0]?.task_id ?? '')}/`;
    expect((await expectAnswer<TaskDetailBody>(host, detail, { status: 200 })).body.name).toBe('evil');
    expect(prototypes()).toBe(before);
  },
  { missing: redisMissing },
);
