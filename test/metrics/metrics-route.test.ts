import { connect as connectSocket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ComponentsBody, ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { answer, healthy, type Script, startExporter, TEXT, until } from './fake-exporter.ts';
import { ROUTER_HOSTS } from './router-hosts.ts';

/** What an exporter could harm a browser with. */
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
  'Link: <http://evil>; rel=preload',
];

describe.each(ROUTER_HOSTS)('GET /metrics with $name', ({ mount }) => {
  it("answers the exporter's bytes and type, and none of its other headers", async () => {
    const body = 'a{b="\xe9\xff\x00"} 1\n';
    const exporter = await startExporter((socket) => socket.end(answer(body, HOSTILE_HEADERS), 'latin1'));
    const { base } = await mount(exporter.url);
    const { status, headers, bytes } = await ask(base, '/metrics');
    expect(status).toBe(200);
    expect(bytes).toEqual(Buffer.from(body, 'latin1'));
    const { date, connection, ...rest } = headers;
    expect(rest).toEqual({
      'content-type': TEXT,
      'content-length': String(bytes.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount(exporter.url);
    const get = await ask(base, '/metrics');
    const head = await ask(base, '/metrics', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    const { date: _date, ...headers } = get.headers;
    expect(head.headers).toMatchObject(headers);
    for (const request of exporter.requests) expect(request).toMatch(/^GET \/metrics HTTP/);
  });

  it('passes on the query parameters that the host allows, and answers 400 to another', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount({ url: exporter.url, query: ['name[]'] });
    expect((await ask(base, '/metrics?name[]=a&name[]=b')).status).toBe(200);
    expect(exporter.requests[0]).toMatch(/^GET \/metrics\?name%5B%5D=a&name%5B%5D=b HTTP/);
    const { status, body } = await ask<ProblemBody>(base, '/metrics?target=http://evil/&name[]=a&module=b');
    expect(status).toBe(400);
    expect(body.code).toBe('invalid_parameter');
    expect(body.errors?.map(({ parameter }) => parameter).sort()).toEqual(['module', 'target']);
    expect(exporter.requests).toHaveLength(1);
  });

  it('answers 404 while no exporter is configured', async () => {
    const { base } = await mount(false);
    const { status, body } = await ask<ProblemBody>(base, '/metrics');
    expect([status, body.code]).toEqual([404, 'metrics_disabled']);
  });

  const faults: [string, Script, number, string][] = [
    [
      'fails',
      (socket) => socket.end(answer('the secret stack', [`Content-Type: ${TEXT}`], '500 Oops')),
      502,
      'exporter_invalid',
    ],
    ['redirects', (socket) => socket.end(answer('', HOSTILE_HEADERS, '302 Found')), 502, 'exporter_invalid'],
    [
      'sends HTML',
      (socket) => socket.end(answer('<b>secret', ['Content-Type: text/html'])),
      502,
      'exporter_invalid',
    ],
    [
      'is cut off',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 99\r\n\r\nsecret`),
      502,
      'exporter_invalid',
    ],
    ['sends too much', (socket) => socket.end(answer('secret'.repeat(1_000))), 502, 'exporter_invalid'],
    ['hangs up', (socket) => socket.destroy(), 503, 'exporter_unavailable'],
    ['hangs', () => {}, 504, 'exporter_timeout'],
  ];

  it.each(faults)(
    'answers a problem of our own when the exporter %s',
    async (_name, script, status, code) => {
      const exporter = await startExporter(script);
      const { base } = await mount({
        url: exporter.url.replace('//', '//user:hush@'),
        timeoutMs: 300,
        maxBytes: 4_000,
      });
      const reply = await ask<ProblemBody>(base, '/metrics');
      expect([reply.status, reply.body.code]).toEqual([status, code]);
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(reply.headers['retry-after'] === undefined).toBe(status !== 503);
      for (const name of ['location', 'set-cookie', 'etag', 'content-security-policy']) {
        expect(reply.headers).not.toHaveProperty(name);
      }
      expect(reply.text).not.toMatch(/secret|hush|user|127\.0\.0\.1/);
    },
  );

  it('shows the exporter among the components, without its credentials', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount(exporter.url.replace('//', '//user:hush@'));
    const up = await ask<ComponentsBody>(base, '/api/components/');
    expect(up.body.metrics).toMatchObject({ enabled: true, status: 'up' });
    expect(up.text).not.toContain('hush');
    await exporter.close();
    const gone = await mount(exporter.url);
    expect((await ask<ComponentsBody>(gone.base, '/api/components/')).body.metrics).toMatchObject({
      enabled: true,
      status: 'down',
    });
    const off = await mount(false);
    expect((await ask<ComponentsBody>(off.base, '/api/components/')).body.metrics).toMatchObject({
      enabled: false,
      status: 'disabled',
    });
  });

  it('ends the scrape when the only client goes away', async () => {
    const exporter = await startExporter(() => {});
    const { port, path } = await mount(exporter.url);
    const socket = connectSocket(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET ${path}/metrics HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until(() => exporter.requests.length === 1, 'the exporter is asked');
    socket.destroy();
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
  });

  it('stops at the first hop when it is its own exporter', async () => {
    let hops = 0;
    const host = await mount(null, () => {
      hops += 1;
    });
    const { status, body } = await ask<ProblemBody>(host.base, '/metrics');
    expect([status, body.code]).toEqual([502, 'exporter_invalid']);
    expect(hops).toBe(2);
  });

  it("leaves no listener on the host's server", async () => {
    const exporter = await startExporter(healthy);
    const host = await mount({ url: exporter.url, query: ['a'] });
    const count = () => host.server.eventNames().map((name) => host.server.listenerCount(name));
    const before = count();
    await Promise.all([1, 2, 3, 4, 5].map((a) => ask(host.base, `/metrics?a=${a}`)));
    expect(count()).toEqual(before);
  });
});
