/** Rows 31 to 36: an exporter that is away, slow, cut off, endless, or answers with what is no metrics. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { INVALID_ANSWERS, SLOW_ANSWERS } from '../metrics/exporter-scripts.ts';
import { answer, BODY, healthy, type Script, startExporter, TEXT } from '../metrics/fake-exporter.ts';
import { until } from '../router/host-kit.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

const UNAVAILABLE = { status: 503, code: 'exporter_unavailable' } as const;
const INVALID = { status: 502, code: 'exporter_invalid' } as const;

/** Asks a monitor of this exporter; what the exporter said, and where it is, must not be in a problem. */
async function scrape(
  { serve, expectAnswer }: FaultBench,
  exporter: NonNullable<MonitorOptions['exporter']>,
  expected: Parameters<FaultBench['expectAnswer']>[2],
) {
  const host = await serve({ exporter });
  const reply = await expectAnswer(host, '/metrics', expected);
  // Again, with the proxy's module loaded.
  await expectAnswer(host, '/metrics', expected);
  if (reply.status !== 200) {
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['retry-after'] === undefined).toBe(reply.status !== 503);
    for (const name of ['location', 'set-cookie', 'etag', 'content-encoding', 'content-security-policy']) {
      expect(reply.headers).not.toHaveProperty(name);
    }
    expect(reply.text).not.toMatch(/127\.0\.0\.1|up 1|169\.254|someone|hush/);
  }
  return host;
}

/** The same exporter, with credentials that nobody may see. */
const secretly = (url: string): string => url.replace('//', '//someone:hush@');

/** The versions of http-proxy-middleware that the package admits, each for the requests of one case. */
const PROXIES: Readonly<Record<string, () => void>> = {
  'http-proxy-middleware 3': () => {},
  'http-proxy-middleware 4': () => {
    vi.doMock('http-proxy-middleware', () => import('http-proxy-middleware4'));
    onTestFinished(() => void vi.doUnmock('http-proxy-middleware'));
  },
};

/** A case that is run behind each of them. */
function exporterCase(row: number, title: string, run: (bench: FaultBench) => Promise<void>): void {
  for (const [proxy, use] of Object.entries(PROXIES)) {
    faultCase(row, `${title}, behind ${proxy}`, async (bench) => {
      use();
      await run(bench);
    });
  }
}

exporterCase(31, 'an exporter that is down, hangs up at once, or has no address', async (bench) => {
  const gone = await startExporter(healthy);
  await gone.close();
  await scrape(bench, gone.url, UNAVAILABLE);
  const rude = await startExporter((socket) => socket.resetAndDestroy());
  await scrape(bench, rude.url, UNAVAILABLE);
  const lookup: LookupFunction = (_name, _options, callback) =>
    callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), '');
  await scrape(bench, { url: 'http://exporter.example/metrics', agent: new Agent({ lookup }) }, UNAVAILABLE);
  const plain = await startExporter(() => {}, 'HTTP/1.1 400 Bad Request\r\n\r\n');
  await scrape(bench, plain.url.replace('http:', 'https:'), UNAVAILABLE);
});

faultCase(
  31,
  'an exporter whose certificate nobody has signed',
  async (bench) => {
    const certificates = makeCertificates();
    onTestFinished(() => certificates.remove());
    const { cert, key } = certificates.stranger;
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) =>
      response.setHeader('Content-Type', TEXT).end(BODY),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    });
    const { port } = server.address() as AddressInfo;
    await scrape(bench, `https://127.0.0.1:${port}/metrics`, UNAVAILABLE);
  },
  { missing: tlsMissing },
);

const TIMEOUT_MS = 200;

for (const [what, script] of Object.entries(SLOW_ANSWERS)) {
  exporterCase(32, `an exporter that ${what}`, async (bench) => {
    const exporter = await startExporter(script);
    const start = performance.now();
    await scrape(
      bench,
      { url: secretly(exporter.url), timeoutMs: TIMEOUT_MS },
      {
        status: 504,
        code: 'exporter_timeout',
        aimMs: TIMEOUT_MS + 1_000,
      },
    );
    expect(performance.now() - start).toBeGreaterThanOrEqual(2 * TIMEOUT_MS - 10);
    await until(() => exporter.open() === 0);
  });
}

const CUT = /^(?:cuts|resets|ends its body by hanging up)/;
const OVERSIZE = /^(?:never stops|announces)/;
const HEADERS = /^has a header|two lengths/;

for (const [row, title, which] of [
  [33, 'is cut off', (name: string) => CUT.test(name)],
  [34, 'has no end', (name: string) => OVERSIZE.test(name)],
  [35, 'is no metrics', (name: string) => !CUT.test(name) && !OVERSIZE.test(name) && !HEADERS.test(name)],
  [36, 'has headers that are no HTTP', (name: string) => HEADERS.test(name)],
] as const) {
  const scripts = Object.entries(INVALID_ANSWERS).filter(([name]) => which(name));
  exporterCase(row, `an answer that ${title}, in ${scripts.length} ways`, async (bench) => {
    expect(scripts.length).toBeGreaterThan(1);
    for (const [what, script] of scripts) {
      const exporter = await startExporter(script);
      await scrape(bench, { url: secretly(exporter.url), maxBytes: 100_000 }, INVALID);
      await until(() => exporter.open() === 0).catch(() => expect.unreachable(`open after it ${what}`));
      // Nobody is asked twice for one answer.
      expect(exporter.opened()).toBe(2);
    }
  });
}

const MB = 1024 * 1024;
const CLIENTS = 50;

faultCase(34, `an endless answer to ${CLIENTS} clients at once`, async (bench) => {
  const chunk = Buffer.from(`100000\r\n${'x'.repeat(MB)}\r\n`);
  const endless: Script = (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const flood = (): void => {
      if (!socket.destroyed) socket.write(chunk, () => setImmediate(flood));
    };
    flood();
  };
  const exporter = await startExporter(endless);
  const host = await bench.serve({ exporter: exporter.url });
  let most = 0;
  const before = process.memoryUsage().arrayBuffers;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }, 1);
  onTestFinished(() => clearInterval(watch));
  const asked = Array.from({ length: CLIENTS }, () => bench.expectAnswer(host, '/metrics', INVALID));
  const [first] = await Promise.all(asked);
  clearInterval(watch);
  expect(first?.text).toContain('larger than 8388608 bytes');
  bench.figure('exporter asked', exporter.opened());
  bench.figure('held more', `${Math.round(most / MB)} MB`);
  // One body of 8 MB at a time, and what is on its way; one for each client would be 400 MB.
  expect(most).toBeLessThan(100 * MB);
  expect(exporter.opened()).toBeLessThan(CLIENTS / 2);
  await until(() => exporter.open() === 0);
});

const HOSTILE_HEADERS = [
  `Content-Type: ${TEXT}`,
  'Set-Cookie: session=stolen; Path=/',
  'Content-Security-Policy: default-src *',
  'Strict-Transport-Security: max-age=31536000',
  'Access-Control-Allow-Origin: *',
  'Cache-Control: public, max-age=600',
  'ETag: "a"',
  'Location: http://169.254.169.254/',
  'Server: secret/1.0',
  'X-Powered-By: secret',
  'Connection: X-Hop',
  'X-Hop: 1',
  'Proxy-Authenticate: Basic',
  'Trailer: Expires',
  'Upgrade: h2c',
  'Link: <http://evil>; rel=preload',
];

faultCase(36, 'hostile headers of a whole answer', async (bench) => {
  const body = 'a{b="\xe9\xff\x00"} 1\n';
  const exporter = await startExporter((socket) => socket.end(answer(body, HOSTILE_HEADERS), 'latin1'));
  const host = await bench.serve(
    { exporter: exporter.url },
    { before: (app) => void app.disable('x-powered-by') },
  );
  const { headers, bytes } = await bench.expectAnswer(host, '/metrics', { status: 200 });
  expect(bytes).toEqual(Buffer.from(body, 'latin1'));
  const { date: _date, connection: _connection, ...rest } = headers;
  expect(rest).toEqual({
    'content-type': TEXT,
    'content-length': String(bytes.length),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
});
