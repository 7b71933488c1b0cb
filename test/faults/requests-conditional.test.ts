/** Rows 58 and 59: conditions, ranges and methods. */
import { expect } from 'vitest';
import { healthy, startExporter } from '../metrics/fake-exporter.ts';
import { createShop } from '../router/shop-sources.ts';
import { expressCase } from './kit/fault-case.ts';

const PATHS = [
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];
const ALL = [...PATHS, '/healthcheck', '/metrics'];

const KNOWN: Readonly<Record<string, (tag: string) => string>> = {
  'the tag': (tag) => tag,
  'the tag as a strong one': (tag) => tag.slice(2),
  'a list with it': (tag) => `"a", ${tag} ,W/"b"`,
  'a star': () => '*',
};
const UNKNOWN = ['"a"', 'W/"a"', '', 'x', '"', 'W/', ','.repeat(1_000)];

expressCase(58, 'a client that knows the answer is told so, and the source is not asked', async (bench) => {
  const shop = createShop();
  shop.status = { ok: true, asOf: new Date(), revision: 1 };
  const host = await bench.serve({ sources: shop.sources });
  for (const path of PATHS) {
    const { headers } = await bench.expectAnswer(host, path, { status: 200 });
    // Components are put together anew: parts of them belong to no source.
    const calls = path === '/api/components/' ? null : { ...shop.calls };
    for (const [what, knows] of Object.entries(KNOWN)) {
      const options = { headers: { 'if-none-match': knows(String(headers.etag)) } };
      const known = await bench.expectAnswer(host, path, { status: 304, options });
      expect([what, known.bytes.length, known.headers.etag]).toEqual([what, 0, headers.etag]);
    }
    for (const tag of UNKNOWN) {
      const options = { headers: { 'if-none-match': tag } };
      await bench.expectAnswer(host, path, { status: 200, options });
    }
    if (calls !== null) expect(shop.calls).toEqual(calls);
  }
});

expressCase(58, 'dates and ranges are passed over', async (bench) => {
  const shop = createShop();
  shop.status = { ok: true, asOf: new Date(), revision: 1 };
  const host = await bench.serve({ sources: shop.sources });
  for (const path of PATHS) {
    const whole = await bench.expectAnswer(host, path, { status: 200 });
    for (const headers of [
      { 'if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
      { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
      { 'if-match': '"a"' },
      { range: 'bytes=0-1' },
      { range: 'bytes=0-1', 'if-range': String(whole.headers.etag) },
      { range: 'bytes=9999999-' },
    ]) {
      const part = await bench.expectAnswer(host, path, { status: 200, options: { headers } });
      expect(part.headers['content-range']).toBeUndefined();
      expect(part.headers.etag).toBe(whole.headers.etag);
    }
  }
});

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE'];

expressCase(59, 'HEAD, OPTIONS and what writes, on each path', async (bench) => {
  const exporter = await startExporter(healthy);
  const host = await bench.serve({
    sources: createShop().sources,
    metrics: exporter.url,
    health: { reuseMs: 60_000 },
  });
  for (const path of ALL) {
    const got = await bench.expectAnswer(host, path, { status: 200 });
    const head = await bench.expectAnswer(host, path, { status: 200, options: { method: 'HEAD' } });
    expect([path, head.bytes.length]).toEqual([path, 0]);
    for (const name of ['content-type', 'etag', 'cache-control', 'x-content-type-options']) {
      expect([path, name, head.headers[name]]).toEqual([path, name, got.headers[name]]);
    }
    const allowed = await bench.expectAnswer(host, path, { status: 204, options: { method: 'OPTIONS' } });
    expect(allowed.headers.allow).toBe('GET, HEAD, OPTIONS');
    for (const method of METHODS) {
      const expected = { status: 405, code: 'method_not_allowed', options: { method } };
      const refused = await bench.expectAnswer(host, path, expected);
      expect(refused.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
  }
  // Once for GET, and once for HEAD: the rest was answered without it.
  for (const request of exporter.requests) expect(request).toMatch(/^GET \/metrics HTTP/);
  expect(exporter.requests.length).toBeLessThanOrEqual(2);
  for (const method of ['HEAD', 'OPTIONS', ...METHODS]) {
    for (const path of ['/nowhere', '/api/', '/metrics/x']) {
      await bench.expectAnswer(host, path, { status: 404, options: { method, ours: false } });
    }
  }
});
