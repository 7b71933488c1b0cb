import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMonitorClient, MonitorClientError } from '../../src/client.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskSource } from '../../src/source.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';

describe.each(EXPRESS_MAJORS)('on $name, the client', (major) => {
  async function served() {
    const queue = memorySources();
    const host = await serve(major, { sources: queue });
    return { queue, ...host, client: createMonitorClient(host.base) };
  }

  it('asks every route', async () => {
    const { queue, client } = await served();
    queue.record({ id: 'a/b ü', state: 'SUCCESS', name: 'pay', runtime: 2 });
    queue.recordWorker({ hostname: 'w1' });
    expect((await client.health()).status).toBe('pass');
    expect(Object.keys((await client.health({ checks: ['broker'] })).checks)).toEqual(['broker']);
    expect((await client.components()).web?.status).toBe('up');
    expect((await client.tasks({ state: ['SUCCESS', 'FAILURE'], limit: 5 })).tasks[0]?.runtime).toBe(2);
    expect((await client.tasks({ stats: 5 })).stats?.states).toEqual({ SUCCESS: 1 });
    expect((await client.tasks({ since: new Date(Date.now() + 60_000) })).total).toBe(0);
    expect((await client.task('a/b ü')).name).toBe('pay');
    expect((await client.relations('a/b ü')).relations).toEqual([]);
    expect((await client.graph('a/b ü', { limit: 10 })).nodes).toHaveLength(1);
    expect((await client.graphUpdates('a/b ü')).complete).toBe(true);
    expect((await client.workers()).workers.map(({ hostname }) => hostname)).toEqual(['w1']);
    expect((await client.events({ task: 'pay' })).events).toHaveLength(1);
    expect((await client.schedules()).enabled).toBe(false);
  });

  it('walks every page of a list', async () => {
    const { queue, client } = await served();
    for (let index = 0; index < 25; index += 1) queue.record({ id: String(index), state: 'STARTED' });
    const ids: string[] = [];
    for await (const task of client.eachTask({ limit: 10 })) ids.push(task.task_id);
    expect(ids.sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 25 }, (_, index) => String(index)),
    );
  });

  it('lists a row once, whichever instance answers a page', async () => {
    const instances = [memorySources(), memorySources()] as const;
    const now = Date.now();
    for (let index = 0; index < 60; index += 1) {
      const task = { id: String(index), state: 'SUCCESS' } as const;
      // The second instance has them in the opposite order.
      instances[0].record({ ...task, timestamp: now - index * 1_000 });
      instances[1].record({ ...task, timestamp: now - 60_000 + index * 1_000 });
    }
    let asked = 0;
    const tasks: TaskSource = {
      ...instances[0].tasks,
      listTasks(query, context) {
        asked += 1;
        return instances[asked % 2 === 0 ? 1 : 0].tasks.listTasks(query, context);
      },
    };
    const { base } = await serve(major, { sources: { tasks } });
    const ids: string[] = [];
    for await (const task of createMonitorClient(base).eachTask({ limit: 10 })) ids.push(task.task_id);
    expect(asked).toBeGreaterThan(6);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('rejects with the problem, or with what it knows of one', async () => {
    const { base, client } = await served();
    const failure = async (asked: Promise<unknown>): Promise<MonitorClientError> => {
      const error = await asked.then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(MonitorClientError);
      return error as MonitorClientError;
    };
    expect(await failure(client.task('nobody'))).toMatchObject({ status: 404, code: 'task_not_found' });
    expect(await failure(client.tasks({ limit: 5_000 }))).toMatchObject({
      code: 'invalid_parameter',
      problem: { errors: [{ parameter: 'limit' }] },
    });
    expect(await failure(client.metrics())).toMatchObject({ status: 404, code: 'metrics_disabled' });
    const lost = createMonitorClient(`${base}/elsewhere`);
    expect(await failure(lost.workers())).toMatchObject({ status: 404, code: null, problem: null });
    const away = createMonitorClient('http://127.0.0.1:9');
    expect(await failure(away.workers())).toMatchObject({ status: null, code: null });
    const aborted = client.workers({ signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(/abort/i);
  });

  it('follows the feed and leaves when the loop is left', async () => {
    const { queue, client, get } = await served();
    queue.record({ id: '1', state: 'STARTED' });
    const seen: (string | null)[] = [];
    for await (const { events } of client.watchEvents()) {
      seen.push(...events.map((event) => event.task_id));
      if (seen.length === 2) break;
      queue.record({ id: '2', state: 'STARTED' });
    }
    expect(seen).toEqual(['1', '2']);
    expect((await get('/canary')).status).toBe(404);
  });

  it('keeps a graph current through new nodes and changes', async () => {
    const { queue, client } = await served();
    queue.record({ id: 'a', state: 'STARTED', name: 'pay' });
    const stop = new AbortController();
    const steps = [
      () => queue.record({ id: 'b', state: 'STARTED', parentId: 'a' }),
      () => queue.record({ id: 'a', state: 'SUCCESS' }),
      () => queue.record({ id: 'b', state: 'FAILURE' }),
    ];
    for await (const graph of client.watchGraph('a', {}, { signal: stop.signal })) {
      const { nodes, edges, meta } = await client.graph('a');
      expect({ nodes: graph.nodes.map(({ id, state }) => ({ id, state })), edges: graph.edges }).toEqual({
        nodes: nodes.map(({ id, state }) => ({ id, state })),
        edges,
      });
      expect(graph.meta.counts).toEqual(meta.counts);
      const next = steps.shift();
      if (next !== undefined) next();
      else if (graph.complete) stop.abort();
    }
    expect(steps).toEqual([]);
  });

  it('ends a watch that no other attempt would mend', async () => {
    const { client } = await served();
    const watch = client.watchGraph('nobody');
    await expect(watch.next()).rejects.toMatchObject({ code: 'task_not_found' });
  });
});

describe('the client in trouble', () => {
  async function scripted(
    ...answers: ((server: Server, url: string) => [number, Record<string, string>, string])[]
  ) {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.url}`);
      const [status, headers, body] = (answers[asked.length - 1] ?? answers.at(-1))?.(
        server,
        request.url ?? '',
      ) ?? [500, {}, ''];
      response.writeHead(status, headers).end(body);
    }).listen(0, '127.0.0.1');
    await until(() => server.listening);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { asked, client: createMonitorClient(`http://127.0.0.1:${port}/monitor/`) };
  }

  const json = (body: object): [number, Record<string, string>, string] => [
    200,
    { 'content-type': 'application/json' },
    JSON.stringify(body),
  ];
  const stream = (text: string): [number, Record<string, string>, string] => [
    200,
    { 'content-type': 'text/event-stream' },
    text,
  ];

  it('goes on behind the last message after a stream has ended', async () => {
    const { asked, client } = await scripted(
      () => stream('id: one\ndata: {"cursor":"one","events":[]}\n\nid: half\ndata: {"cur'),
      () =>
        stream(': hello\r\nretry: 1\r\n\r\nid: two\r\ndata: {"cursor":"two",\r\ndata: "events":[]}\r\n\r\n'),
      () => stream('id: three\ndata: {"cursor":"three","events":[]}\n\n'),
    );
    const cursors: string[] = [];
    for await (const { cursor } of client.watchEvents()) {
      cursors.push(cursor);
      if (cursors.length === 3) break;
    }
    expect(cursors).toEqual(['one', 'two', 'three']);
    expect(asked.map((url) => new URL(url, 'http://a').searchParams.get('since'))).toEqual([
      null,
      'one',
      'two',
    ]);
  });

  it('asks again and again where no stream gets through, and tells news only', async () => {
    const { client, asked } = await scripted(
      () => json({ cursor: 'one' }),
      () => json({ cursor: 'one' }),
      () => json({ cursor: 'two' }),
    );
    const cursors: string[] = [];
    for await (const { cursor } of client.watchEvents({}, { pollMs: 1 })) {
      cursors.push(cursor);
      if (cursors.length === 2) break;
    }
    expect(cursors).toEqual(['one', 'two']);
    expect(asked).toHaveLength(3);
  });

  it('tries again after a failure, tells of it, and stops when told to', async () => {
    const problem = { 'content-type': 'application/problem+json', 'retry-after': '0' };
    const { client } = await scripted(
      () => [503, problem, '{"code":"source_unavailable","detail":"Away."}'],
      () => stream('id: one\ndata: {"cursor":"one","events":[]}\n\n'),
    );
    const failures: unknown[] = [];
    const stop = new AbortController();
    const watch = client.watchEvents({}, { signal: stop.signal, onRetry: (error) => failures.push(error) });
    expect((await watch.next()).value).toMatchObject({ cursor: 'one' });
    expect(failures).toMatchObject([{ status: 503, code: 'source_unavailable', retryAfter: 0 }]);
    const next = watch.next();
    await sleep(5);
    stop.abort();
    expect((await next).done).toBe(true);
  });
});
