import { gunzipSync } from 'node:zlib';
import compression from 'compression';
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { expect, onTestFinished, vi } from 'vitest';
import type { Answer } from '../helpers/ask.ts';
import { START } from '../router/shop-sources.ts';
import { expressCase } from './kit/fault-case.ts';
import { PATHS, serveShop, using } from './kit/shop-host.ts';

/** What the clock and chance put into a body. */
const MOMENTS = /"\d{4}-\d\d-\d\dT[\d:.]+Z"|"latency_ms":[\d.]+|"last_seen_seconds":\d+|"cursor":"[^"]*"/g;

function stopClock(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  onTestFinished(() => void vi.useRealTimers());
}

const textOf = ({ text }: Answer): string => text.replaceAll(MOMENTS, 'T');

expressCase(67, "a host's body parser is in front, and bodies are broken or too large", async (bench) => {
  const { express } = bench.express;
  const before = using(express.json({ limit: '10mb' }), express.urlencoded({ extended: true }));
  const host = await serveShop(bench, { before });
  const json = { 'content-type': 'application/json' };
  const filler = 'x'.repeat(11 * 2 ** 20);
  for (const [send, status] of [
    ['{"a":', 400],
    [JSON.stringify({ filler }), 413],
  ] as const) {
    const post = { method: 'POST', headers: json, send, ours: false };
    // The parser's own error: it never reaches the monitor, but the handler of the host.
    expect((await host.get('/api/workers/', post)).text).toBe('host');
    expect(host.errors.splice(0)).toMatchObject([{ status }]);
  }
  const large = JSON.stringify({ filler: filler.slice(0, 9 * 2 ** 20) });
  await bench.expectAnswer(host, '/api/workers/', { status: 200, options: { headers: json, send: large } });
  const post = { method: 'POST', headers: json, send: large };
  await bench.expectAnswer(host, '/api/workers/', { status: 405, options: post });
});

/** Holds an answer back for a moment before it ends, as middleware of sessions does. */
const holdingEnd: RequestHandler = (_request, response, next) => {
  const { end } = response;
  response.setHeader('Set-Cookie', 'sid=1');
  response.end = function endLater(this: typeof response, ...given: unknown[]) {
    setTimeout(() => Reflect.apply(end, this, given), 2);
    return this;
  } as typeof end;
  next();
};

/** What cors, rate limits and loggers add. */
const addingHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Vary', 'Origin');
  response.setHeader('RateLimit', 'limit=100, remaining=99');
  response.on('finish', () => void response.getHeader('content-length'));
  next();
};

expressCase(70, 'compression, sessions, cors and the like are in front', async (bench) => {
  stopClock();
  const plain = await serveShop(bench);
  const stack = using(helmet(), holdingEnd, addingHeaders, compression({ threshold: 0 }));
  const stacked = await serveShop(bench, { before: stack });
  for (const path of PATHS) {
    const [one, two] = [await plain.get(path), await stacked.get(path)];
    expect([path, two.status, textOf(two)]).toEqual([path, one.status, textOf(one)]);
    // The cursor of a graph is another in each monitor.
    if (!path.includes('/graph/')) expect(two.headers.etag).toBe(one.headers.etag);
    expect(two.headers).toMatchObject({ 'set-cookie': ['sid=1'], 'access-control-allow-origin': '*' });
    expect(two.headers.vary).toMatch(/Origin/);
    const zipped = await stacked.get(path, { headers: { 'accept-encoding': 'gzip' }, ours: false });
    if (zipped.headers['content-encoding'] !== 'gzip') continue;
    expect(gunzipSync(zipped.bytes).toString().replaceAll(MOMENTS, 'T')).toBe(textOf(one));
  }
});

expressCase(71, 'a proxy is trusted, and Host and forwarded headers are forged', async (bench) => {
  stopClock();
  const host = await serveShop(bench, { before: (app) => void app.set('trust proxy', true) });
  const forged = {
    host: 'evil.example',
    forwarded: 'host=evil.example;proto=https',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-prefix': '/evil',
    'x-forwarded-for': '6.6.6.6',
    'x-original-url': '/evil',
    'x-rewrite-url': '/evil',
  };
  for (const path of [...PATHS, '/', '']) {
    const ours = path.length > 1;
    const [one, two] = [await host.get(path, { ours }), await host.get(path, { headers: forged, ours })];
    expect([path, two.status, textOf(two)]).toEqual([path, one.status, textOf(one)]);
    expect([two.headers.location, two.headers.link]).toEqual([one.headers.location, one.headers.link]);
    expect(JSON.stringify(two.headers) + two.text).not.toContain('evil');
  }
});
