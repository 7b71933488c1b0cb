import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type {
  ComponentsBody,
  EventsBody,
  GraphBody,
  SchedulesBody,
  TaskDetailBody,
  TasksBody,
  WorkersBody,
} from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { ALL_WELL, askAll, startExample, statuses, waitFor } from './example-process.ts';

const FILE = 'examples/memory/server.mjs';

describe('examples/memory', () => {
  it('answers all eleven routes and each URL that it prints, is lively from the first moment, and shows no secret', async () => {
    const { base, printed, end } = await startExample([FILE]);
    expect(statuses(await askAll(base))).toEqual(ALL_WELL);
    await waitFor(printed, (text) => text.includes('Ctrl+C'));
    const urls = printed().match(/http:[^\s']+/g) ?? [];
    expect(urls.length).toBeGreaterThan(12);
    for (const url of urls.filter((text) => text !== base)) {
      expect([url, (await ask(base, url.slice(base.length))).status]).toEqual([url, 200]);
    }
    const first = await ask<EventsBody>(base, '/api/events/latest/?limit=1');
    const later = await waitFor(
      () => ask<EventsBody>(base, `/api/events/latest/?since=${encodeURIComponent(first.body.cursor)}`),
      ({ body }) => body.events.length > 0,
    );
    expect(later.body.gap).toBe(false);
    const charges = await ask(base, '/api/tasks/?name=payments.charge');
    expect(charges.text).toContain('card_token');
    expect(charges.text).not.toContain('tok_');
    const tasks = async (query: string) => (await ask<TasksBody>(base, `/api/tasks/?${query}`)).body;
    for (const state of ['SUCCESS', 'FAILURE', 'REVOKED']) {
      expect((await tasks(`state=${state}&limit=1`)).tasks, state).toHaveLength(1);
    }
    const [id = ''] = (await tasks('limit=1')).tasks.map(({ task_id }) => task_id);
    const { body: task } = await ask<TaskDetailBody>(base, `/api/tasks/${id}/`);
    expect(task.links).toEqual([{ text: 'This task as JSON', url: `api/tasks/${id}/` }]);
    const { stats } = await tasks('stats=60&limit=0');
    expect(stats?.markers?.map(({ text }) => text)).toEqual(['v410', 'v411', 'v412']);
    expect(stats?.series.filter(({ succeeded }) => (succeeded ?? 0) > 0).length).toBeGreaterThan(10);
    for (const state of ['PROGRESS', 'RETRY', 'STARTED']) {
      const { body: feed } = await ask<EventsBody>(base, `/api/events/latest/?limit=1&state=${state}`);
      expect(feed.events, state).toHaveLength(1);
    }
    const { body: workers } = await ask<WorkersBody>(base, '/api/workers/');
    expect(workers.workers).toHaveLength(4);
    expect(workers.workers.some(({ status }) => status === 'online')).toBe(true);
    const { body: beat } = await ask<SchedulesBody>(base, '/api/beat/schedules/');
    expect(beat.schedules.length).toBeGreaterThan(2);
    const outcomes = beat.schedules.flatMap(({ last_runs }) => last_runs?.map(({ state }) => state));
    expect(outcomes).toEqual(expect.arrayContaining(['SUCCESS', 'FAILURE']));
    // The exporter is asked in the background.
    const { metrics, ...components } = await waitFor(
      async () => (await ask<ComponentsBody>(base, '/api/components/')).body,
      ({ metrics }) => metrics?.status !== 'unknown',
    );
    expect(metrics?.status).toBe('up');
    expect(components.queues?.queues?.length).toBeGreaterThan(2);
    // The deploy has broken the payments; nothing else is wrong, and every check had its data.
    expect(components.findings?.findings).toMatchObject([
      { code: 'failure_rate', subject: 'payments.charge' },
    ]);
    expect(components.findings?.rules?.filter(({ reason }) => reason !== null)).toEqual([]);
    await waitFor(printed, (text) => text.includes('/graph/'));
    const order = /\/api\/tasks\/[\w-]+\/graph\//.exec(printed())?.[0] ?? '';
    const { body: graph } = await ask<GraphBody>(base, order);
    expect(graph.meta.node_count).toBeGreaterThan(6);
    expect(new Set(graph.edges.map(({ kind }) => kind))).toEqual(new Set(['child', 'group', 'chord']));
    expect(await end('SIGTERM')).toEqual({ code: 0, stderr: '' });
  });

  it('says which port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { status, stderr } = spawnSync(process.execPath, [FILE], {
      env: { ...process.env, PORT: String(port) },
      timeout: 120_000,
    });
    server.close();
    expect(status).toBe(1);
    expect(stderr.toString()).toContain(`Port ${port} is taken.`);
  }, 150_000);
});
