/** Rows 56 and 57: what keeps a browser and a shared cache from doing harm with answers. */
import { expect } from 'vitest';
import { healthy, startExporter } from '../metrics/fake-exporter.ts';
import type { Host, HostOptions } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

const OURS_NOT = { ours: false };

async function pageOf({ expectAnswer }: FaultBench, host: Host) {
  return await expectAnswer(host, '/', { status: 200, options: OURS_NOT });
}

faultCase(56, 'the page is not framed, sniffed or told of, unless the host says otherwise', async (bench) => {
  const plain = await bench.serve({});
  const { headers } = await pageOf(bench, plain);
  expect(headers['content-security-policy']).toMatch(/default-src 'none';.*frame-ancestors 'self'/);
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|data:|blob:/);
  expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' });
  const own = { 'Content-Security-Policy': "default-src 'self'", 'Referrer-Policy': 'no-referrer' };
  const before: HostOptions['before'] = (app) =>
    void app.use((_request, response, next) => {
      for (const [name, value] of Object.entries(own)) response.setHeader(name, value);
      next();
    });
  const guarded = await pageOf(bench, await bench.serve({}, { before }));
  expect(guarded.headers).toMatchObject({
    'content-security-policy': own['Content-Security-Policy'],
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
});

const DATA = [
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/?stats=5',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];
const NEVER_KEPT: readonly (readonly [path: string, status: number])[] = [
  ['/healthcheck', 200],
  ['/metrics', 200],
  ['/api/tasks/?nonsense=1', 400],
  ['/api/tasks/unknown/', 404],
  ['/api/tasks', 308],
  ['/metrics?x=1', 400],
];

faultCase(57, 'each answer says what a shared cache may do with it', async (bench) => {
  const exporter = await startExporter(healthy);
  const host = await bench.serve({ sources: createShop().sources, metrics: exporter.url });
  for (const path of DATA) {
    const { headers } = await bench.expectAnswer(host, path, { status: 200 });
    expect([path, headers['cache-control']]).toEqual([path, 'private, no-cache']);
    expect(headers.etag).toMatch(/^W\/"[\w-]+"$/);
  }
  for (const [path, status] of NEVER_KEPT) {
    const { headers } = await bench.expectAnswer(host, path, { status });
    expect([path, headers['cache-control']]).toEqual([path, 'no-store']);
    expect([path, headers.etag]).toEqual([path, undefined]);
  }
  const page = await pageOf(bench, host);
  expect(page.headers['cache-control']).toBe('no-cache');
  const assets = [...page.text.matchAll(/\.\/(assets\/[\w.-]+)/g)].map(([, path]) => `/${path}`);
  expect(assets.length).toBeGreaterThan(2);
  for (const path of assets) {
    const { headers } = await bench.expectAnswer(host, path, { status: 200, options: OURS_NOT });
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(headers.vary).toBe('Accept-Encoding');
  }
});
