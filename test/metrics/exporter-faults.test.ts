import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { type AddressInfo, type LookupFunction, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createMetricsProxy,
  type MetricsOptions,
  type MetricsProxy,
  resolveMetrics,
  type ScrapeRequest,
} from '../../src/routes/metrics.ts';
import {
  answer,
  BODY,
  type FakeExporter,
  healthy,
  type Script,
  startExporter,
  TEXT,
  until,
} from './fake-exporter.ts';
import { PROXY_VERSIONS } from './proxy-versions.ts';

const LIMIT_MS = 400;
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startFake(script: Script): Promise<FakeExporter> {
  const exporter = await startExporter(script);
  closing.push(() => exporter.close());
  return exporter;
}

async function outcome(proxy: MetricsProxy, request: ScrapeRequest = {}): Promise<string> {
  try {
    const { status, contentType, body } = await proxy.scrape(request);
    return `${status} ${contentType} ${body.toString('latin1')}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ load }) => {
  function connect(options: MetricsOptions | string): MetricsProxy {
    const resolved = resolveMetrics(options);
    if (resolved === null) throw new Error('metrics are off');
    const proxy = createMetricsProxy(resolved, load);
    closing.push(() => proxy.close());
    return proxy;
  }

  it('is asked once, for the configured path, with the Accept of the client and nothing else of it', async () => {
    const exporter = await startFake(healthy);
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
    const exporter = await startFake(healthy);
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
    const exporter = await startFake((socket) =>
      socket.end(answer(body, [`Content-Type: ${contentType}`, 'Set-Cookie: a=b']), 'latin1'),
    );
    expect(await outcome(connect(exporter.url))).toBe(`200 ${contentType} ${body}`);
  });

  it('may answer in chunks, with an empty body, and after an interim answer', async () => {
    const chunked = await startFake((socket) => {
      socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\n`);
      socket.end('Transfer-Encoding: chunked\r\n\r\n5\r\na 1\n\n\r\n4\r\nb 2\n\r\n0\r\n\r\n');
    });
    expect(await outcome(connect(chunked.url))).toBe(`200 ${TEXT} a 1\n\nb 2\n`);
    const empty = await startFake((socket) => socket.end(answer('')));
    expect(await outcome(connect(empty.url))).toBe(`200 ${TEXT} `);
  });

  const invalid: Record<string, Script> = {
    'answers 404': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '404 Not Found')),
    'answers 500': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '500 Oops')),
    'answers 204': (socket) => socket.end(`HTTP/1.1 204 No Content\r\nContent-Type: ${TEXT}\r\n\r\n`),
    'answers 206': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`], '206 Partial Content')),
    'answers 101': (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    'floods with interim answers': (socket) => {
      const flood = (): void => {
        if (!socket.destroyed)
          socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(50), () => setImmediate(flood));
      };
      flood();
    },
    'answers with HTML': (socket) => socket.end(answer(BODY, ['Content-Type: text/html'])),
    'answers with JSON': (socket) => socket.end(answer('{}', ['Content-Type: application/json'])),
    'answers without content type': (socket) => socket.end(answer(BODY, [])),
    'answers with an empty content type': (socket) => socket.end(answer(BODY, ['Content-Type:'])),
    'answers with a content type that hides another': (socket) =>
      socket.end(answer(BODY, ['Content-Type: text/plain, text/html'])),
    'answers with a boundless content type': (socket) =>
      socket.end(answer(BODY, [`Content-Type: text/plain; a="${'x'.repeat(300)}"`])),
    'compresses in spite of all': (socket) => {
      const body = gzipSync(BODY).toString('latin1');
      socket.end(answer(body, [`Content-Type: ${TEXT}`, 'Content-Encoding: gzip']), 'latin1');
    },
    'cuts a body with a length': (socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 500\r\n\r\n${BODY}`),
    'cuts a body in chunks between two of them': (socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n`,
      ),
    'cuts a chunk': (socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na 1\n`),
    'resets the connection within the body': (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 500\r\n\r\n${BODY}`, () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    },
    'ends its body by hanging up, so that a cut could not be seen': (socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\n\r\n${BODY}`),
    'cuts OpenMetrics text that has no length': (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\n\r\na 1\n'),
    'announces a body above the limit': (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 99999999\r\n\r\n`),
    'never stops': (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
      const flood = (): void => {
        if (!socket.destroyed) socket.write(chunk, () => setImmediate(flood));
      };
      flood();
    },
    'speaks no HTTP': (socket) => socket.end('220 smtp.example.org ESMTP\r\n'),
    'has a header with a NUL in its name': (socket) =>
      socket.end(answer(BODY, ['Content-Type: text/plain', 'a\0b: c'])),
    'has a header of 64 KB': (socket) =>
      socket.end(answer(BODY, ['Content-Type: text/plain', `X-Big: ${'x'.repeat(65_536)}`])),
    'gives two lengths': (socket) => socket.end(answer(BODY, [`Content-Type: ${TEXT}`, 'Content-Length: 3'])),
  };
  for (const status of [301, 302, 303, 307, 308, 304, 300]) {
    invalid[`answers ${status}`] = (socket) =>
      socket.end(
        answer('', [`Content-Type: ${TEXT}`, 'Location: http://169.254.169.254/'], `${status} Elsewhere`),
      );
  }

  it.each(Object.entries(invalid))('is refused as invalid when it %s', async (_name, script) => {
    const exporter = await startFake(script);
    const proxy = connect({ url: exporter.url, maxBytes: 100_000, timeoutMs: 15_000 });
    expect(await outcome(proxy)).toBe('exporter_invalid');
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    expect(exporter.opened()).toBe(1);
  });

  it('may leave the length out where OpenMetrics marks the end', async () => {
    const body = 'a 1\n# EOF\n';
    const exporter = await startFake((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text\r\n\r\n${body}`),
    );
    expect(await outcome(connect(exporter.url))).toBe(`200 application/openmetrics-text ${body}`);
  });

  it('may be as large as the limit and not a byte larger', async () => {
    const exporter = await startFake((socket) => socket.end(answer('x'.repeat(1_000))));
    expect(await outcome(connect({ url: exporter.url, maxBytes: 1_000 }))).toContain('200 ');
    expect(await outcome(connect({ url: exporter.url, maxBytes: 999 }))).toBe('exporter_invalid');
  });

  const slow: Record<string, Script> = {
    'says nothing': () => {},
    'stalls within the headers': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Ty'),
    'stalls after the headers': (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 9\r\n\r\n`),
    'stalls within the body': (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nContent-Length: 9\r\n\r\na 1\n`),
    drips: (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const timer = setInterval(() => socket.write('4\r\na 1\n\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    },
  };

  it.each(Object.entries(slow))(
    'times out when it %s, and its connection is closed',
    async (_name, script) => {
      const exporter = await startFake(script);
      const proxy = connect({ url: exporter.url, timeoutMs: LIMIT_MS });
      const begin = performance.now();
      expect(await outcome(proxy)).toBe('exporter_timeout');
      const took = performance.now() - begin;
      expect(took).toBeGreaterThanOrEqual(LIMIT_MS - 5);
      expect(took).toBeLessThan(LIMIT_MS + 1_000);
      await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    },
  );

  it('is unavailable when nothing listens', async () => {
    const gone = await startExporter(healthy);
    await gone.close();
    expect(await outcome(connect(gone.url))).toBe('exporter_unavailable');
  });

  it('is unavailable when it hangs up at once, or speaks no TLS', async () => {
    const rude = await startFake((socket) => socket.destroy());
    expect(await outcome(connect(rude.url))).toBe('exporter_unavailable');
    const plain = await startExporter(() => {}, 'HTTP/1.1 400 Bad Request\r\n\r\n');
    closing.push(() => plain.close());
    expect(await outcome(connect(plain.url.replace('http:', 'https:')))).toBe('exporter_unavailable');
  });

  it('is unavailable when its name is not known', async () => {
    const lookup: LookupFunction = (_name, _options, callback) =>
      callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), '');
    const agent = new Agent({ lookup });
    expect(await outcome(connect({ url: 'http://exporter.example/metrics', agent }))).toBe(
      'exporter_unavailable',
    );
  });

  it('is not connected to when its name leads to a link-local address', async () => {
    const exporter = await startFake(healthy);
    const agent = new Agent();
    // What a socket does that looks a name up, except that it would reach a harmless place.
    agent.createConnection = () => {
      const socket = new Socket();
      setImmediate(() => {
        socket.emit('lookup', null, '169.254.169.254', 4, 'metadata.example');
        if (!socket.destroyed) socket.connect(exporter.port, '127.0.0.1');
      });
      return socket;
    };
    const proxy = connect({ url: 'http://metadata.example/metrics', agent });
    expect(await outcome(proxy)).toBe('exporter_unavailable');
    expect(exporter.opened()).toBe(0);
  });

  it("is asked through the host's agent, also when that has one connection for many scrapes", async () => {
    const exporter = await startFake((socket, head) => {
      const again = answer(head.split(' ')[1] ?? '');
      socket.write(again);
      socket.on('data', (chunk) => socket.write(answer(chunk.toString('latin1').split(' ')[1] ?? '')));
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    closing.push(() => agent.destroy());
    const proxy = connect({ url: exporter.url, agent, query: ['a'] });
    const asked = await Promise.all([1, 2, 3, 4, 5].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual([1, 2, 3, 4, 5].map((a) => `200 ${TEXT} /metrics?a=${a}`));
    expect(exporter.opened()).toBe(1);
  });

  it("times out also while a scrape waits for a connection of the host's agent", async () => {
    const exporter = await startFake(() => {});
    const agent = new Agent({ maxSockets: 1 });
    closing.push(() => agent.destroy());
    const proxy = connect({ url: exporter.url, agent, query: ['a'], timeoutMs: LIMIT_MS });
    const asked = await Promise.all([1, 2].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual(['exporter_timeout', 'exporter_timeout']);
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
  });

  it('is asked without an Accept that could not be sent', async () => {
    const exporter = await startFake(healthy);
    expect(await outcome(connect(exporter.url), { accept: 'text/plain\r\nX-Evil: 1' })).toContain('200 ');
    expect(exporter.requests[0]).not.toMatch(/^(accept:|x-evil)/im);
  });

  it('can be reached at an IPv6 address', async (context) => {
    const server = createServer((_request, response) => response.setHeader('Content-Type', TEXT).end(BODY));
    server.listen(0, '::1');
    const failed = once(server, 'error').then(() => true);
    if (await Promise.race([failed, once(server, 'listening').then(() => false)])) context.skip('needs IPv6');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await outcome(connect(`http://[::1]:${port}/metrics`))).toBe(`200 ${TEXT} ${BODY}`);
  });
});
