import compression from 'compression';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MonitorOptions, TaskEvent } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { EventsBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { askStream, type OpenStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type HostOptions, serve, until } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

const FEED = '/api/events/latest/';
const LONG = { state: 'STARTED', name: 'pay'.repeat(10_000) } as const;

describe('a stream in trouble', () => {
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

  it('ends with a hint to come back when its source fails, and the next one is told so', async () => {
    const shop = createShop();
    const { base } = await serve(EXPRESS, { sources: shop.sources });
    const stream = await askStream<EventsBody>(base, FEED);
    await until(() => stream.messages.length === 1);
    shop.status = { ok: false, asOf: new Date() };
    await until(() => stream.isOver());
    expect(stream.text().endsWith('retry: 2000\n\n')).toBe(true);
    const again = await askStream<EventsBody>(base, FEED);
    await until(() => again.isOver());
    expect(again.messages[0]?.body.sources).toMatchObject([{ ok: false }]);
    expect(again.text().endsWith('retry: 2000\n\n')).toBe(true);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('gone');
      },
    ],
    ['rejects', () => Promise.reject(new Error('gone'))],
    ['answers nonsense', () => ({ events: 7 }) as never],
    ['never answers', () => new Promise<never>(() => {})],
  ])('ends with a hint to come back when its source %s in mid-stream', async (_, fault) => {
    const shop = createShop();
    let isBroken = false;
    const events = {
      ...shop.sources.events,
      listEvents: (...args: Parameters<typeof shop.sources.events.listEvents>) =>
        isBroken ? fault() : shop.sources.events.listEvents(...args),
    };
    const { base } = await serve(EXPRESS, { sources: { ...shop.sources, events }, timeoutMs: 200 });
    const stream = await askStream<EventsBody>(base, FEED);
    await until(() => stream.messages.length === 1);
    isBroken = true;
    await until(() => stream.isOver());
    expect(stream.text().endsWith('retry: 2000\n\n')).toBe(true);
  });

  it('asks a source that does not say when it changes once for all, about once a second', async () => {
    const shop = createShop();
    const { base } = await serve(EXPRESS, { sources: shop.sources });
    const streams = await Promise.all(Array.from({ length: 20 }, () => askStream<EventsBody>(base, FEED)));
    onTestFinished(() => {
      for (const stream of streams) stream.close();
    });
    await until(() => streams.every(({ messages }) => messages.length > 0));
    const before = shop.calls.listEvents ?? 0;
    const event: TaskEvent = { id: 'event-11', type: 'task-sent', taskId: 'new', timestamp: new Date() };
    shop.events = [event, ...shop.events];
    // On a slow machine, some look while others have just joined: then they are told in two messages.
    await until(() =>
      streams.every(
        ({ messages }) => messages.at(-1)?.body.events.some((one) => one.task_id === 'new') === true,
      ),
    );
    expect((shop.calls.listEvents ?? 0) - before).toBeLessThan(10);
  });

  it('is refused above the limit of streams, and makes room when a client leaves', async () => {
    const { base, open } = await served({ limits: { streams: 2 } });
    const first = await open();
    await open();
    const headers = { accept: 'text/event-stream' };
    const refused = await ask<{ code: string }>(base, FEED, { headers });
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      '1',
    ]);
    expect((await ask(base, FEED)).status).toBe(200);
    first.close();
    await until(async () => {
      const stream = await askStream(base, FEED).catch(() => null);
      stream?.close();
      return stream !== null;
    });
  });

  it('ends with a hint to come back when the monitor is closed', async () => {
    const { base, router, open } = await served();
    const streams = [await open(), await open(`${FEED}?limit=7`)];
    await router.close();
    await until(() => streams.every((stream) => stream.isOver()));
    for (const stream of streams) expect(stream.text().endsWith('retry: 2000\n\n')).toBe(true);
    const late = await ask<{ code: string }>(base, FEED, { headers: { accept: 'text/event-stream' } });
    expect(late.body.code).toBe('overloaded');
  });

  it('ends for a client that reads too slowly, which resumes and misses nothing; others go on', async () => {
    const { queue, open } = await served();
    const path = `${FEED}?limit=1000`;
    const slow = await open(path);
    const quick = await open(path);
    slow.pause();
    // Much more than the buffers of both sides hold.
    for (let count = 0; count < 600; count += 200) {
      for (let index = 0; index < 200; index += 1) queue.record({ ...LONG, id: `task-${count + index}` });
      await until(() => idsOf(quick).length === count + 200);
    }
    slow.resume();
    await until(() => slow.isOver());
    expect(slow.text().endsWith('retry: 2000\n\n')).toBe(true);
    const got = idsOf(slow);
    expect(got.length).toBeLessThan(600);
    const again = await open(path, { 'last-event-id': slow.messages.at(-1)?.id });
    await until(() => got.length + idsOf(again).length === 600);
    expect(new Set([...got, ...idsOf(again)]).size).toBe(600);
  });

  it('shares its first message with all who wait for it, and is refused while clients have too much to read', async () => {
    const queue = memorySources();
    for (let index = 0; index < 500; index += 1) queue.record({ ...LONG, id: `task-${index}` });
    let asked = 0;
    let release = (): void => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const events = {
      ...queue.events,
      async listEvents(...args: Parameters<typeof queue.events.listEvents>) {
        await isReleased;
        return queue.events.listEvents(...args);
      },
    };
    const { base, url } = await serve(
      EXPRESS,
      { sources: { events }, limits: { streamBytes: 24 * 2 ** 20 } },
      {
        before: (app) =>
          void app.use((_request, _response, next) => {
            asked += 1;
            next();
          }),
      },
    );
    // A message of 15 MB.
    const openPaused = async (limit: number): Promise<OpenStream<unknown>> => {
      const stream = await askStream(base, `${FEED}?limit=${limit}`);
      stream.pause();
      onTestFinished(() => stream.close());
      return stream;
    };
    const opening = Array.from({ length: 10 }, () => openPaused(500));
    await until(() => asked === 10);
    release();
    const streams = await Promise.all(opening);
    streams.push(await openPaused(499));
    const path = `${FEED}?limit=498`;
    const refused = await ask<{ code: string }>(base, path, { headers: { accept: 'text/event-stream' } });
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      '1',
    ]);
    expect((await ask(url, '/canary', { ours: false })).text).toBe('sings');
    for (const stream of streams) stream.close();
    await until(() =>
      openPaused(498).then(
        () => true,
        () => false,
      ),
    );
  });

  it('comes through compression', async () => {
    const { queue, open } = await served(
      {},
      { before: (app) => app.use(compression({ filter: () => true })) },
    );
    const stream = await open();
    await until(() => stream.messages.length === 1);
    queue.record({ id: '1', state: 'STARTED' });
    await until(() => stream.messages.length === 2);
  });

  it('asks authorize at its start', async () => {
    const { base } = await served({ authorize: () => false });
    const refused = await ask<{ code: string }>(base, FEED, { headers: { accept: 'text/event-stream' } });
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  });
});
