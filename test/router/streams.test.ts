import { describe, expect, it, onTestFinished } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { EventsBody, GraphBody, GraphUpdatesBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { askStream, type OpenStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type HostOptions, serve, until } from './host-kit.ts';

const FEED = '/api/events/latest/';

describe('a stream', () => {
  async function served(options: MonitorOptions = {}, host: HostOptions = {}) {
    const queue = memorySources();
    const { base, router, get } = await serve(EXPRESS, { sources: queue, ...options }, host);
    const open = async <Body = EventsBody>(path = FEED, headers = {}): Promise<OpenStream<Body>> => {
      const stream = await askStream<Body>(base, path, headers);
      onTestFinished(() => stream.close());
      return stream;
    };
    return { queue, base, router, get, open };
  }

  const idsOf = ({ messages }: OpenStream<EventsBody>): (string | null)[] =>
    messages.flatMap(({ body }) => [...body.events].reverse().map((event) => event.task_id));

  it('begins with the answer to the request itself and goes on with what happens', async () => {
    const { queue, get, open } = await served();
    queue.record({ id: '1', state: 'STARTED', name: 'pay' });
    const stream = await open();
    await until(() => stream.messages.length === 1);
    const { body: answer } = await get<EventsBody>(FEED);
    expect(stream.messages[0]?.body.events).toEqual(answer.events);
    expect(stream.messages[0]?.id).toBe(answer.cursor);
    queue.record({ id: '2', state: 'STARTED', name: 'ship' });
    await until(() => stream.messages.length === 2);
    expect(stream.messages[1]?.body).toMatchObject({ events: [{ task_id: '2' }], gap: false });
    expect(stream.messages[1]?.id).toBe(stream.messages[1]?.body.cursor);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      vary: 'Accept',
    });
  });

  it('is JSON for every other Accept and for HEAD, which say that it matters', async () => {
    const { base } = await served();
    for (const accept of ['*/*', 'application/json', 'text/html', 'text/event-stream;q=0']) {
      const answer = await ask(base, FEED, { headers: { accept } });
      expect([answer.status, answer.headers['content-type'], answer.headers.vary]).toEqual([
        200,
        'application/json; charset=utf-8',
        'Accept',
      ]);
    }
    const head = await ask(base, FEED, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
    expect(head.headers['content-type']).toBe('application/json; charset=utf-8');
    const other = await ask(base, '/api/workers/', { headers: { accept: 'text/event-stream' } });
    expect(other.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('gives every client every event once, wherever it begins, and they share the messages', async () => {
    const { queue, open } = await served();
    const first = await open();
    await until(() => first.messages.length === 1);
    const all: string[] = [];
    const record = (count: number): void => {
      for (let index = 0; index < count; index += 1) {
        const id = `task-${all.length}`;
        all.push(id);
        queue.record({ id, state: 'STARTED', name: 'pay' });
      }
    };
    record(120);
    await until(() => idsOf(first).length === 120);
    const second = await open(`${FEED}?since=${first.messages[1]?.id}`);
    const third = await open(FEED, { 'last-event-id': first.messages[0]?.id });
    record(30);
    await until(() => idsOf(third).length === 150);
    await until(() => idsOf(first).length === 150 && idsOf(second).length === 100);
    expect(idsOf(first)).toEqual(all);
    expect(idsOf(third)).toEqual(all);
    expect(idsOf(second)).toEqual(all.slice(50));
    record(1);
    await until(() => [first, second, third].every((stream) => idsOf(stream).at(-1) === 'task-150'));
    const last = [first, second, third].map(({ messages }) => messages.at(-1));
    expect(new Set(last.map((message) => JSON.stringify(message))).size).toBe(1);
  });

  it('goes on behind Last-Event-ID, whatever since says, and refuses one that it never gave', async () => {
    const { queue, base, open } = await served();
    queue.record({ id: '1', state: 'STARTED' });
    const first = await open();
    await until(() => first.messages.length === 1);
    first.close();
    queue.record({ id: '2', state: 'STARTED' });
    const since = encodeURIComponent('2020-01-01T00:00:00Z');
    const again = await open(`${FEED}?since=${since}`, { 'last-event-id': first.messages[0]?.id });
    await until(() => again.messages.length === 1);
    expect(idsOf(again)).toEqual(['2']);
    const headers = { accept: 'text/event-stream', 'last-event-id': 'nonsense' };
    const refused = await ask<{ code: string }>(base, FEED, { headers });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_parameter']);
  });

  it('applies the filters', async () => {
    const { queue, open } = await served();
    const stream = await open(`${FEED}?task=pay`);
    queue.record({ id: '1', state: 'STARTED', name: 'ship' });
    queue.record({ id: '2', state: 'STARTED', name: 'pay' });
    await until(() => stream.messages.length === 2);
    expect(idsOf(stream)).toEqual(['2']);
  });

  it('lists only the newest of what happened where the client asks for few, and counts the others', async () => {
    const { queue, get, open } = await served();
    const stream = await open(`${FEED}?limit=100&newest=2`);
    await until(() => stream.messages.length === 1);
    const since = stream.messages[0]?.id ?? '';
    for (const id of ['1', '2', '3', '4', '5']) queue.record({ id, state: 'STARTED' });
    await until(() => stream.messages.length === 2);
    const shown = { events: [{ task_id: '5' }, { task_id: '4' }], skipped: 3, gap: false };
    expect(stream.messages[1]?.body).toMatchObject(shown);
    expect((await get<EventsBody>(`${FEED}?limit=100&newest=2&since=${since}`)).body).toMatchObject(shown);
    expect((await get<EventsBody>(`${FEED}?since=${since}`)).body).toMatchObject({ skipped: 0 });
    queue.record({ id: '6', state: 'STARTED' });
    await until(() => stream.messages.length === 3);
    expect(stream.messages[2]?.body).toMatchObject({ events: [{ task_id: '6' }], skipped: 0 });
  });

  it('gathers changes for as long as the client asks', async () => {
    const { queue, open } = await served();
    const stream = await open(`${FEED}?limit=1000&gather=1500`);
    const arrived: number[] = [];
    let number = 0;
    await until(() => {
      queue.record({ id: String(number), state: 'STARTED' });
      number += 1;
      if (stream.messages.length > arrived.length) arrived.push(performance.now());
      return arrived.length === 4;
    });
    // The first message is the answer to the request, the second one may follow at once.
    const [, , third = 0, fourth = 0] = arrived;
    expect(fourth - third).toBeGreaterThan(1_300);
    expect(new Set(idsOf(stream)).size).toBe(idsOf(stream).length);
  });

  it('follows a workflow: its nodes, its topology, its end, and stays open behind it', async () => {
    const { queue, get, open } = await served();
    queue.record({ id: 'a', state: 'STARTED', name: 'pay' });
    const stream = await open<GraphUpdatesBody>('/api/tasks/a/graph/updates/');
    await until(() => stream.messages.length === 1);
    expect(stream.messages[0]?.body).toMatchObject({
      node_updates: [{ id: 'a', state: 'STARTED' }],
      topology_changed: false,
      complete: false,
    });
    queue.record({ id: 'b', state: 'STARTED', name: 'mail', parentId: 'a' });
    await until(() => stream.messages.length === 2);
    expect(stream.messages[1]?.body).toMatchObject({ node_updates: [{ id: 'b' }], topology_changed: true });
    queue.record({ id: 'a', state: 'SUCCESS' });
    queue.record({ id: 'b', state: 'SUCCESS' });
    await until(() => stream.messages.at(-1)?.body.complete === true);
    const { body: graph } = await get<GraphBody>('/api/tasks/a/graph/');
    expect(stream.messages.at(-1)?.id).toBe(graph.meta.cursor);
    queue.record({ id: 'other', state: 'STARTED' });
    queue.record({ id: 'c', state: 'STARTED', parentId: 'b' });
    await until(() => stream.messages.at(-1)?.body.node_updates[0]?.id === 'c');
    expect(stream.isOver()).toBe(false);
    const ids = stream.messages.flatMap(({ body }) => body.node_updates.map(({ id }) => id));
    expect(ids).not.toContain('other');
  });

  it('answers problems before it begins: an unknown task, a bad parameter, no source', async () => {
    const { base } = await served();
    const headers = { accept: 'text/event-stream' };
    const codes = async (path: string, at = base): Promise<unknown> =>
      ((await ask(at, path, { headers })).body as { code: string }).code;
    expect(await codes('/api/tasks/nobody/graph/updates/')).toBe('task_not_found');
    expect(await codes(`${FEED}?limit=0`)).toBe('invalid_parameter');
    const empty = await serve(EXPRESS, {});
    expect(await codes(FEED, empty.base)).toBe('source_not_configured');
  });
});
