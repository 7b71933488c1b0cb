import type { Express } from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import type { ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { EXPRESS, EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

type Hook = NonNullable<MonitorOptions['authorize']>;

const NEVER = new Promise<boolean>(() => {});

describe.each(EXPRESS_MAJORS)('on $name, authorize', (major) => {
  it('gets the request and the name of the route', async () => {
    const authorize = vi.fn(() => true);
    const { get } = await serve(major, { sources: createShop().sources, authorize });
    await get('/api/tasks/task-0001/graph/updates/', { headers: { 'x-user': 'ada' } });
    expect(authorize).toHaveBeenCalledTimes(1);
    expect(authorize).toHaveBeenCalledWith(
      expect.objectContaining({ headers: expect.objectContaining({ 'x-user': 'ada' }) }),
      'updates',
    );
  });

  it.each<[string, Hook]>([
    ['returns true', () => true],
    ['resolves with true', async () => true],
  ])('lets a request through when it %s', async (_, authorize) => {
    const { get } = await serve(major, { sources: createShop().sources, authorize });
    expect((await get('/api/tasks/')).status).toBe(200);
  });

  it.each<[string, Hook]>([
    ['returns false', () => false],
    ['resolves with false', async () => false],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['forgets to return', () => undefined as unknown as boolean],
    ['returns something truthy that is not true', () => 'yes' as unknown as boolean],
    ['returns an unknown status', () => ({ status: 200 }) as never],
    ['returns a challenge that is no header', () => ({ status: 401, challenge: 'Basic\r\nSet-Cookie: a=b' })],
    ['does not decide in time', () => NEVER],
    ['redirects to another site', () => ({ redirect: 'https://evil.example/login' })],
  ])('answers 403 when it %s', async (_, authorize) => {
    const shop = createShop();
    const { get } = await serve(major, { sources: shop.sources, authorize, timeoutMs: 50 });
    const { status, body, headers, text } = await get<ProblemBody>('/api/tasks/');
    expect(status).toBe(403);
    expect(body.code).toBe('forbidden');
    expect(headers['cache-control']).toBe('no-store');
    expect(text).not.toContain('secret');
    expect(headers['set-cookie']).toBeUndefined();
    expect(shop.calls).toEqual({});
  });

  it('can answer 401 with a challenge and words of its own', async () => {
    const authorize = () => ({ status: 401, challenge: 'Basic realm="shop"', detail: 'Ask Ada.' }) as const;
    const { get } = await serve(major, { authorize });
    const { status, body, headers } = await get<ProblemBody>('/api/tasks/');
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Basic realm="shop"');
    expect(body).toMatchObject({ code: 'unauthorized', detail: 'Ask Ada.' });
  });

  it('answers 401 where it redirects: an API has no login page', async () => {
    const authorize = () => ({ redirect: '/login', detail: 'Your session is over.' });
    const { get } = await serve(major, { authorize });
    const headers = { accept: 'text/html' };
    const { status, body, headers: answered } = await get<ProblemBody>('/api/tasks/', { headers });
    expect([status, body.code, body.detail]).toEqual([401, 'unauthorized', 'Your session is over.']);
    expect(answered.location).toBeUndefined();
  });

  it('tells onError why it could not decide', async () => {
    const onError = vi.fn();
    const error = new Error('session store is down');
    const { get } = await serve(major, { authorize: () => Promise.reject(error), onError });
    await get('/api/tasks/');
    expect(onError.mock.calls).toEqual([
      [error, { code: 'forbidden', source: null, call: 'authorize', suppressed: 0 }],
    ]);
  });

  it('is asked after path, method and slash, and before query, id and source', async () => {
    const authorize = vi.fn(() => false);
    const { get } = await serve(major, { authorize });
    expect((await get('/x', { ours: false })).status).toBe(404);
    expect((await get('/api/tasks/', { method: 'POST' })).status).toBe(405);
    expect((await get('/api/tasks/', { method: 'OPTIONS' })).status).toBe(204);
    expect((await get('/api/tasks')).status).toBe(308);
    expect(authorize).not.toHaveBeenCalled();
    for (const path of [
      '/api/tasks/?nonsense=1',
      '/api/tasks/%zz/',
      '/api/tasks/',
      '/metrics',
      '/healthcheck',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 403]);
    }
  });

  it('is asked before the query is parsed', async () => {
    const options = { authorize: () => false, exporter: 'http://127.0.0.1:9/metrics' };
    // Express 4 parses the query of every request with a parser of its own.
    const before = (app: Express): void => void app.set('query parser', false);
    const { get } = await serve(major, options, { before });
    const parse = vi.spyOn(globalThis, 'URLSearchParams');
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    onTestFinished(() => {
      parse.mockRestore();
      decode.mockRestore();
    });
    for (const path of ['/api/tasks/', '/api/events/latest/', '/metrics']) {
      expect((await get(`${path}?limit=1${'&%'.repeat(100)}`)).status).toBe(403);
    }
    const decoded = decode.mock.calls.flat().filter((text) => text.includes('%'));
    expect([parse.mock.calls, decoded]).toEqual([[], []]);
  });

  it('is asked before a 304', async () => {
    let allowed = true;
    const { get } = await serve(major, { sources: createShop().sources, authorize: () => allowed });
    const { etag } = (await get('/api/workers/')).headers;
    const headers = { 'if-none-match': String(etag) };
    expect((await get('/api/workers/', { headers })).status).toBe(304);
    allowed = false;
    expect((await get('/api/workers/', { headers })).status).toBe(403);
  });
});

describe('authorize', () => {
  it('refuses a long request at about the price of a bare refusal', async () => {
    const before = (app: Express): void => {
      app.set('query parser', false);
      app.get('/bare', (_request, response) => void response.status(403).json({ code: 'forbidden' }));
    };
    const options = { authorize: () => false, exporter: 'http://127.0.0.1:9/metrics' };
    const { get, url } = await serve(EXPRESS, options, { before });
    const pairs = `?1=1${'&%'.repeat(7_898)}`;
    const price = async (send: () => Promise<unknown>): Promise<number> => {
      for (let warm = 0; warm < 10; warm += 1) await send();
      const start = cpuMs();
      for (let sent = 0; sent < 30; sent += 1) await send();
      return cpuMs() - start;
    };
    const bare = await price(() => ask(url, `/bare${pairs}`, { ours: false }));
    // Twice is the aim; parsing before `authorize` cost a hundred times as much.
    for (const target of [`/api/tasks/${pairs}`, `/metrics${pairs}`, `/api/tasks/${'x%20'.repeat(3_900)}/`]) {
      expect(await price(() => get(target, { ours: false }))).toBeLessThan(20 * bare);
    }
  });
});
