import { beforeEach, describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { answer, BODY, healthy, startExporter, TEXT } from './fake-exporter.ts';
import { mount, outcome, PROXY_VERSIONS } from './metrics-host.ts';

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ use }) => {
  beforeEach(use);

  it('is asked once, for the configured path, with the Accept of the client and nothing else of it', async () => {
    const exporter = await startExporter(healthy);
    const { base } = await mount({ url: `${exporter.url}?job=a`, query: ['name[]'] });
    const headers = {
      accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1',
      ...{ cookie: 'session=secret', authorization: 'Bearer secret', 'x-forwarded-for': '1.2.3.4' },
    };
    const reply = await ask(base, '/metrics?name[]=cpu&name[]=a//b%26c', { headers });
    expect([reply.status, reply.headers['content-type'], reply.text]).toEqual([200, TEXT, BODY]);
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
    const url = exporter.url.replace('//', '//us%C3%A9r:p%40ss@');
    await outcome(await mount({ url, headers: { 'X-Scope': 'tenant' } }));
    const basic = Buffer.from('usér:p@ss').toString('base64');
    expect(exporter.requests[0]).toMatch(new RegExp(`^authorization: Basic ${basic}\r$`, 'im'));
    expect(exporter.requests[0]).toMatch(/^x-scope: tenant\r$/im);
    expect(exporter.requests[0]).not.toContain('p%40ss');
  });

  it.each([
    'text/plain',
    'text/plain;',
    'text/plain;charset=utf-8',
    'text/plain ; version=0.0.4',
    'Text/Plain; Charset="utf-8"',
    'application/openmetrics-text; version=2.0.0; charset=utf-8; escaping=allow-utf-8',
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text',
    'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
    'TEXT/Plain; version=1.0.0',
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
    'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
  ])('may answer with %s, which is returned byte for byte', async (contentType) => {
    const body = 'a{b="\xe9\x00\xff"} 1\n';
    const exporter = await startExporter((socket) =>
      socket.end(answer(body, [`Content-Type: ${contentType}`, 'Set-Cookie: a=b']), 'latin1'),
    );
    expect(await outcome(await mount(exporter.url))).toBe(`200 ${contentType} ${body}`);
  });

  it.each([
    ...['text', 'text/plainly', 'text/plain/html', 'text/plain; a="', 'text/plain; a=b c', 'image/svg+xml'],
    ...['text/plain; <script>', 'text/plain; a="\u00e9"', 'text/plain; version=0.0.4\u0000'],
    ...[' ; version=0.0.4', 'multipart/mixed; boundary=text/plain', 'application/javascript'],
  ])('may not answer with %j', async (contentType) => {
    const head = answer(BODY, [`Content-Type: ${contentType}`]);
    const exporter = await startExporter((socket) => socket.end(head, 'latin1'));
    expect(await outcome(await mount(exporter.url))).toBe('exporter_invalid');
  });

  it('may answer in chunks, with an empty body, and after an interim answer', async () => {
    const chunked = await startExporter((socket) => {
      socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\n`);
      socket.end('Transfer-Encoding: chunked\r\n\r\n5\r\na 1\n\n\r\n4\r\nb 2\n\r\n0\r\n\r\n');
    });
    expect(await outcome(await mount(chunked.url))).toBe(`200 ${TEXT} a 1\n\nb 2\n`);
    const empty = await startExporter((socket) => socket.end(answer('')));
    expect(await outcome(await mount(empty.url))).toBe(`200 ${TEXT} `);
  });

  it('may answer in chunks of less than a line', async () => {
    const line = 'metric{a="b"} 123456\n';
    const exporter = await startExporter((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const chunk = `${line.length.toString(16)}\r\n${line}\r\n`;
      socket.end(`${chunk.repeat(20_000)}0\r\n\r\n`);
    });
    expect(await outcome(await mount(exporter.url))).toBe(`200 ${TEXT} ${line.repeat(20_000)}`);
  });

  it('may leave the length out where OpenMetrics marks the end', async () => {
    const body = 'a 1\n# EOF\n';
    const exporter = await startExporter((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\n\r\n${body}`),
    );
    expect(await outcome(await mount(exporter.url))).toBe(`200 application/openmetrics-text ${body}`);
  });

  it('may be as large as the limit and not a byte larger', async () => {
    const exporter = await startExporter((socket) => socket.end(answer('x'.repeat(1_000))));
    expect(await outcome(await mount({ url: exporter.url, maxBytes: 1_000 }))).toContain('200 ');
    expect(await outcome(await mount({ url: exporter.url, maxBytes: 999 }))).toBe('exporter_invalid');
  });
});
