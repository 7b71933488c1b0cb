import { describe, expect, it } from 'vitest';
import type { MetricsOptions } from '../../src/http/metrics-proxy.ts';
import { answer, BODY, healthy, startExporter, TEXT } from './fake-exporter.ts';
import { connectProxy, outcome, PROXY_VERSIONS } from './proxy-versions.ts';

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ load }) => {
  const connect = (options: MetricsOptions | string) => connectProxy(options, load);

  it('is asked once, for the configured path, with the Accept of the client and nothing else of it', async () => {
    const exporter = await startExporter(healthy);
    const proxy = connect({ url: `${exporter.url}?job=a`, query: ['name[]'] });
    const reply = await proxy.scrape({
      accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1',
      query: 'name[]=cpu&name[]=a//b%26c',
      method: 'HEAD',
      headers: { cookie: 'session=secret', authorization: 'Bearer secret', 'x-forwarded-for': '1.2.3.4' },
    });
    expect(reply).toEqual({ status: 200, contentType: TEXT, body: Buffer.from(BODY) });
    const lines = exporter.requests[0]?.split('\r\n') ?? [];
    expect(lines[0]).toBe('GET /metrics?job=a&name%5B%5D=cpu&name%5B%5D=a%2F%2Fb%26c HTTP/1.1');
    expect(
      lines
        .slice(1)
        .map((line) => line.toLowerCase())
        .sort(),
    ).toEqual([
      '',
      '',
      'accept-encoding: identity',
      'accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1',
      'connection: close',
      `host: 127.0.0.1:${exporter.port}`,
      'x-express-task-monitor-scrape: 1',
    ]);
    expect(exporter.requests).toHaveLength(1);
  });

  it("gets the host's headers and the credentials of its URL as a header", async () => {
    const exporter = await startExporter(healthy);
    await connect({
      url: exporter.url.replace('//', '//us%C3%A9r:p%40ss@'),
      headers: { 'X-Scope': 'tenant' },
    }).scrape({});
    const basic = Buffer.from('usér:p@ss').toString('base64');
    expect(exporter.requests[0]).toMatch(new RegExp(`^authorization: Basic ${basic}\r$`, 'im'));
    expect(exporter.requests[0]).toMatch(/^x-scope: tenant\r$/im);
    expect(exporter.requests[0]).not.toContain('p%40ss');
  });

  it.each([
    'text/plain',
    'text/plain;charset=utf-8',
    'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
    'TEXT/Plain; version=1.0.0',
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
    'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
  ])('may answer with %s, which is returned byte for byte', async (contentType) => {
    const body = 'a{b="\xe9\x00\xff"} 1\n';
    const exporter = await startExporter((socket) =>
      socket.end(answer(body, [`Content-Type: ${contentType}`, 'Set-Cookie: a=b']), 'latin1'),
    );
    expect(await outcome(connect(exporter.url))).toBe(`200 ${contentType} ${body}`);
  });

  it('may answer in chunks, with an empty body, and after an interim answer', async () => {
    const chunked = await startExporter((socket) => {
      socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\n`);
      socket.end('Transfer-Encoding: chunked\r\n\r\n5\r\na 1\n\n\r\n4\r\nb 2\n\r\n0\r\n\r\n');
    });
    expect(await outcome(connect(chunked.url))).toBe(`200 ${TEXT} a 1\n\nb 2\n`);
    const empty = await startExporter((socket) => socket.end(answer('')));
    expect(await outcome(connect(empty.url))).toBe(`200 ${TEXT} `);
  });

  it('may answer in chunks of less than a line', async () => {
    const line = 'metric{a="b"} 123456\n';
    const exporter = await startExporter((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const chunk = `${line.length.toString(16)}\r\n${line}\r\n`;
      socket.end(`${chunk.repeat(20_000)}0\r\n\r\n`);
    });
    expect(await outcome(connect(exporter.url))).toBe(`200 ${TEXT} ${line.repeat(20_000)}`);
  });

  it('may leave the length out where OpenMetrics marks the end', async () => {
    const body = 'a 1\n# EOF\n';
    const exporter = await startExporter((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\n\r\n${body}`),
    );
    expect(await outcome(connect(exporter.url))).toBe(`200 application/openmetrics-text ${body}`);
  });

  it('may be as large as the limit and not a byte larger', async () => {
    const exporter = await startExporter((socket) => socket.end(answer('x'.repeat(1_000))));
    expect(await outcome(connect({ url: exporter.url, maxBytes: 1_000 }))).toContain('200 ');
    expect(await outcome(connect({ url: exporter.url, maxBytes: 999 }))).toBe('exporter_invalid');
  });
});
