/** What a client can cost: each limit is tried where it ends, at the last that passes and the first that does not. */
import { describe, expect, it } from 'vitest';
import type { EventsBody, GraphBody, ProblemBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import type { Answer } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { startExporter, TEXT } from '../metrics/fake-exporter.ts';
import { serve, until } from '../router/host-kit.ts';
import { createShop, shopTask } from '../router/shop-sources.ts';

/** Ends all reads that were held back. */
function gate() {
  const waiting: (() => void)[] = [];
  return {
    hold: <T>(value: T) => new Promise<T>((resolve) => waiting.push(() => resolve(value))),
    held: () => waiting.length,
    open: () => {
      for (const release of waiting.splice(0)) release();
    },
  };
}

describe('a limit', () => {
  it('of rows holds for each list answer, and the next page goes on', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop(12).sources, limits: { page: 5 } });
    for (const [asked, given] of [
      [4, 4],
      [5, 5],
      [6, 5],
      [1_000, 5],
    ]) {
      const { body } = await get<TasksBody>(`/api/tasks/?limit=${asked}`);
      expect([asked, body.tasks.length]).toEqual([asked, given]);
    }
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body }: Answer<TasksBody> = await get(`/api/tasks/?limit=9${from}`);
      seen.push(...body.tasks.map(({ task_id }) => task_id));
      cursor = body.next_cursor;
    }
    expect([seen.length, new Set(seen).size]).toEqual([12, 12]);
    expect((await get('/api/tasks/?limit=1001')).status).toBe(400);
    const { body } = await get<EventsBody>('/api/events/latest/?limit=6');
    expect(body.events).toHaveLength(5);
  });

  it('of nodes holds for each graph and its updates, which then say that they are cut', async () => {
    const shop = createShop(0);
    shop.tasks = Array.from({ length: 4 }, (_, index) =>
      shopTask(index + 1, { rootId: 'task-0001', parentId: index === 0 ? null : 'task-0001' }),
    );
    const graphOf = async (nodes: number, asked: number): Promise<GraphBody> => {
      const { get } = await serve(EXPRESS, { sources: shop.sources, limits: { nodes } });
      const path = '/api/tasks/task-0001/graph';
      const updates = await get<{ node_count: number }>(`${path}/updates/?limit=${asked}`);
      const { body } = await get<GraphBody>(`${path}/?limit=${asked}`);
      expect(updates.body.node_count).toBe(body.nodes.length);
      return body;
    };
    expect((await graphOf(4, 20_000)).meta).toMatchObject({ node_count: 4, truncated: false });
    expect((await graphOf(3, 20_000)).meta).toMatchObject({ node_count: 3, truncated: true });
    expect((await graphOf(3, 2)).meta).toMatchObject({ node_count: 2, truncated: true });
  });

  it('of reads of one part of a source leaves room for the others', async () => {
    const { hold, held, open } = gate();
    const shop = createShop();
    const tasks = { ...shop.sources.tasks, listTasks: () => hold({ tasks: [], next: null, total: 0 }) };
    const sources = { ...shop.sources, tasks };
    const { get } = await serve(EXPRESS, { sources, limits: { concurrency: 4 }, timeoutMs: 60_000 });
    const passed = [get('/api/tasks/?limit=1'), get('/api/tasks/?limit=2')];
    await until(() => held() === 2);
    const refused = await get<ProblemBody>('/api/tasks/?limit=3');
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      '1',
    ]);
    expect((await get('/api/workers/')).status).toBe(200);
    open();
    expect((await Promise.all(passed)).map(({ status }) => status)).toEqual([200, 200]);
    const later = get('/api/tasks/?limit=3');
    await until(() => held() === 1);
    open();
    expect((await later).status).toBe(200);
  });

  it('of reads at once holds for all parts together', async () => {
    const { hold, held, open } = gate();
    const shop = createShop();
    const tasks = { ...shop.sources.tasks, listTasks: () => hold({ tasks: [], next: null, total: 0 }) };
    const workers = { ...shop.sources.workers, listWorkers: () => hold([]) };
    const sources = { ...shop.sources, tasks, workers };
    const { get } = await serve(EXPRESS, { sources, limits: { concurrency: 2 }, timeoutMs: 60_000 });
    const passed = [get('/api/tasks/'), get('/api/workers/')];
    await until(() => held() === 2);
    expect((await get<ProblemBody>('/api/tasks/?limit=3')).body.code).toBe('overloaded');
    open();
    expect((await Promise.all(passed)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('of characters cuts previews and details behind it', async () => {
    const shop = createShop(0);
    shop.tasks = [shopTask(1, { args: 'x'.repeat(100) }), shopTask(2, { args: 'x'.repeat(101) })];
    for (const [limits, path, pick] of [
      [{ preview: 100 }, '/api/tasks/', (body: TasksBody) => body.tasks],
      [{ detail: 100 }, '/api/tasks/task-000', (body: TaskDetailBody) => [body]],
    ] as const) {
      const { get } = await serve(EXPRESS, { sources: shop.sources, limits });
      const answers = path.endsWith('/')
        ? [await get(path)]
        : [await get(`${path}2/`), await get(`${path}1/`)];
      const rows = answers.flatMap(({ body }) =>
        (pick as (body: unknown) => readonly TaskDetailBody[])(body),
      );
      expect(rows.map(({ args, truncated }) => [args?.length, args?.endsWith('…'), truncated])).toEqual([
        [100, true, ['args']],
        [100, false, []],
      ]);
    }
  });

  it('of streams lets so many stay, and one more when one has left', async () => {
    const { base } = await serve(EXPRESS, { sources: createShop().sources, limits: { streams: 2 } });
    const open = () => askStream(base, '/api/events/latest/');
    const [first, second] = [await open(), await open()];
    await expect(open()).rejects.toThrow('503');
    first.close();
    await until(async () => {
      const again = await open().catch(() => null);
      again?.close();
      return again !== null;
    });
    second.close();
  });

  it("of bytes holds for the exporter's body", async () => {
    const body = 'up 1\n';
    const exporter = await startExporter((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    for (const [maxBytes, status] of [
      [body.length, 200],
      [body.length - 1, 502],
    ] as const) {
      const { get } = await serve(EXPRESS, { exporter: { url: exporter.url, maxBytes } });
      expect([maxBytes, (await get('/metrics')).status]).toEqual([maxBytes, status]);
    }
  });

  it('of repeated values and of characters of a search refuses what is beyond', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const states = (count: number): string =>
      Array.from({ length: count }, (_, n) => `state=S${n}`).join('&');
    expect((await get(`/api/tasks/?${states(50)}`)).status).toBe(200);
    expect((await get(`/api/tasks/?${states(51)}`)).status).toBe(400);
    expect((await get(`/api/tasks/?q=${'x'.repeat(200)}`)).status).toBe(200);
    expect((await get(`/api/tasks/?q=${'x'.repeat(201)}`)).status).toBe(400);
    expect((await get(`/api/tasks/${'x'.repeat(512)}/`)).status).toBe(404);
    expect((await get(`/api/tasks/${'x'.repeat(513)}/`)).status).toBe(400);
  });
});
