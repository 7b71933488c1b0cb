import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createMonitorClient } from '../../src/client.ts';
import { combineSources, type MonitorSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { EventsBody, GraphUpdatesBody, ProblemBody, TasksBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { type Host, serve, until } from '../router/host-kit.ts';

/** The same cursor in the format of a later version of this library. */
function laterVersion(cursor: string | null): string {
  const text = Buffer.from(cursor ?? '', 'base64url').toString();
  return Buffer.from(text.replace(/^([a-z]+)1/, '$12')).toString('base64url');
}

const SINCE = '/api/events/latest/?since=';

function memoryOf(name: string, id: string): MonitorSources {
  const queue = memorySources({ name });
  queue.record({ id: `${id}1`, state: 'SUCCESS', name: 'mail.send' });
  queue.record({ id: `${id}2`, state: 'STARTED', name: 'mail.send', parentId: `${id}1`, rootId: `${id}1` });
  return queue;
}

async function jobs(name: string): Promise<MonitorSources> {
  const redis = await startRedis();
  const queue = new Queue('mail', { connection: { host: '127.0.0.1', port: redis.port } });
  const sources = bullmqSources({ name, queues: [queue] });
  onTestFinished(async () => {
    await sources.close();
    await queue.close();
    await redis.close();
  });
  await queue.add('mail.send', {}, { jobId: 'first' });
  await queue.add('mail.send', {}, { jobId: 'second' });
  return sources;
}

const ROWS = [
  { kind: 'memory', id: 'a1', open: async () => memoryOf('one', 'a'), missing: null },
  {
    kind: 'combined',
    id: 'b1',
    open: async () => combineSources(memoryOf('one', 'a'), memoryOf('two', 'b')),
    missing: null,
  },
  { kind: 'bullmq', id: 'mail:first', open: () => jobs('bullmq'), missing: redisMissing },
  {
    kind: 'combinedBullmq',
    id: 'b1',
    open: async () => combineSources(await jobs('jobs'), memoryOf('two', 'b')),
    missing: redisMissing,
  },
] as const;

for (const { kind, id, open, missing } of ROWS) {
  describe.skipIf(missing)(titleUnless(missing, `cursors of another version (${kind})`), () => {
    const host = async (): Promise<Host> => serve(EXPRESS, { sources: await open() });

    it('of a list have expired, under a code of their own', async () => {
      const { get } = await host();
      for (const query of ['limit=1', 'limit=1&sort=name&order=asc']) {
        const cursor = (await get<TasksBody>(`/api/tasks/?${query}`)).body.next_cursor;
        expect(cursor).not.toBeNull();
        const path = `/api/tasks/?${query}&cursor=`;
        const { status, body } = await get<ProblemBody>(path + laterVersion(cursor));
        expect([status, body.code]).toEqual([410, 'cursor_expired']);
        const faulty = await get<ProblemBody>(`${path + laterVersion(cursor)}&order=x`);
        expect(faulty.body).toMatchObject({ code: 'invalid_parameter' });
      }
    });

    it('of the feed continue with a gap, in streams too', async () => {
      const { get, base } = await host();
      const cursor = laterVersion((await get<EventsBody>('/api/events/latest/')).body.cursor);
      const { body } = await get<EventsBody>(`${SINCE}${cursor}`);
      expect(body.gap).toBe(true);
      expect(body.events.length).toBeGreaterThan(0);
      const next = await get<EventsBody>(`${SINCE}${encodeURIComponent(body.cursor)}`);
      expect(next.body.gap).toBe(false);
      const stream = await askStream<EventsBody>(base, '/api/events/latest/', {
        'last-event-id': cursor,
      });
      onTestFinished(() => stream.close());
      await until(() => stream.messages.length > 0);
      expect(stream.messages[0]?.body.gap).toBe(true);
    });

    it('of a workflow get all of it again', async () => {
      const { get } = await host();
      const path = `/api/tasks/${encodeURIComponent(id)}/graph/updates/`;
      const { cursor } = (await get<GraphUpdatesBody>(path)).body;
      const { body } = await get<GraphUpdatesBody>(`${path}?since=${laterVersion(cursor)}`);
      expect(body.topology_changed).toBe(true);
      expect(body.node_updates).toHaveLength(body.node_count);
    });
  });
}

describe('the client, while the monitor is upgraded', () => {
  it('reads a list again from its start when its cursor has expired, each task once', async () => {
    const queue = memorySources();
    for (let n = 0; n < 30; n += 1) queue.record({ id: `t${n}`, state: 'SUCCESS', name: 'mail.send' });
    const { base, get } = await serve(EXPRESS, { sources: queue });
    let pages = 0;
    const client = createMonitorClient(base, {
      fetch: async (input) => {
        const { status, headers, body } = await get<TasksBody>(String(input).slice(base.length));
        pages += 1;
        const next = pages === 2 ? { next_cursor: laterVersion(body.next_cursor) } : {};
        const type = String(headers['content-type']);
        return new Response(JSON.stringify({ ...body, ...next }), {
          status,
          headers: { 'content-type': type },
        });
      },
    });
    const ids: string[] = [];
    for await (const task of client.eachTask({ limit: 10 })) ids.push(task.task_id);
    expect(ids.toSorted()).toEqual(Array.from({ length: 30 }, (_, n) => `t${n}`).toSorted());
  });
});
