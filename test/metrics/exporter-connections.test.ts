import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { type AddressInfo, type LookupFunction, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MetricsOptions } from '../../src/http/metrics-proxy.ts';
import { SLOW_ANSWERS } from './exporter-scripts.ts';
import { answer, BODY, healthy, startExporter, TEXT, until } from './fake-exporter.ts';
import { connectProxy, outcome, PROXY_VERSIONS } from './proxy-versions.ts';

const LIMIT_MS = 400;

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ load }) => {
  const connect = (options: MetricsOptions | string) => connectProxy(options, load);

  it.each(Object.entries(SLOW_ANSWERS))(
    'times out when it %s, and its connection is closed',
    async (_name, script) => {
      const exporter = await startExporter(script);
      const proxy = connect({ url: exporter.url, timeoutMs: LIMIT_MS });
      const begin = performance.now();
      expect(await outcome(proxy)).toBe('exporter_timeout');
      const took = performance.now() - begin;
      expect(took).toBeGreaterThanOrEqual(LIMIT_MS - 5);
      expect(took).toBeLessThan(10 * LIMIT_MS);
      await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    },
  );

  it('is unavailable when nothing listens', async () => {
    const gone = await startExporter(healthy);
    await gone.close();
    expect(await outcome(connect(gone.url))).toBe('exporter_unavailable');
  });

  it('is unavailable when it hangs up at once, or speaks no TLS', async () => {
    const rude = await startExporter((socket) => socket.destroy());
    expect(await outcome(connect(rude.url))).toBe('exporter_unavailable');
    const plain = await startExporter(() => {}, 'HTTP/1.1 400 Bad Request\r\n\r\n');
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
    const exporter = await startExporter(healthy);
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

  it.each<[string, (look: () => void) => void]>([
    ['at once', (look) => look()],
    ['in the next tick', (look) => process.nextTick(look)],
    ['later', (look) => void setTimeout(look, 5)],
  ])(
    'is sent nothing when an agent that looks names up %s reaches a forbidden address',
    async (_name, when) => {
      const exporter = await startExporter(healthy);
      const lookup: LookupFunction = (_host, _options, callback) =>
        when(() => callback(null, '127.0.0.1', 4));
      const agent = new Agent({ lookup });
      const createConnection = agent.createConnection.bind(agent);
      // The socket is connected to a harmless address, and says what a real one would say.
      agent.createConnection = (...given) => {
        const socket = createConnection(...given) as Socket;
        Object.defineProperty(socket, 'remoteAddress', { value: '::ffff:169.254.169.254' });
        return socket;
      };
      const proxy = connect({ url: `http://metadata.example:${exporter.port}/metrics`, agent });
      expect(await outcome(proxy)).toBe('exporter_unavailable');
      await until(() => exporter.open() === 0, 'the connection is closed');
      expect(exporter.requests).toEqual([]);
    },
  );

  it('is sent nothing over a connection of the agent that is open already, to a forbidden address', async () => {
    const exporter = await startExporter(healthy);
    const open = new Socket().connect(exporter.port, '127.0.0.1');
    await once(open, 'connect');
    Object.defineProperty(open, 'remoteAddress', { value: 'fd20:ce::254' });
    const agent = new Agent();
    agent.createConnection = () => open;
    expect(await outcome(connect({ url: exporter.url, agent }))).toBe('exporter_unavailable');
    await until(() => exporter.open() === 0, 'the connection is closed');
    expect(exporter.requests).toEqual([]);
  });

  it("leaves no listener on a connection of the host's agent that is used again", async () => {
    const exporter = await startExporter((socket) => {
      socket.write(answer(BODY));
      socket.on('data', () => socket.write(answer(BODY)));
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const proxy = connect({ url: exporter.url, agent, query: ['a'] });
    for (let a = 0; a < 12; a += 1) expect(await outcome(proxy, { query: `a=${a}` })).toContain('200 ');
    const [socket] = Object.values(agent.freeSockets).flat();
    expect([exporter.opened(), socket?.listenerCount('lookup'), socket?.listenerCount('connect')]).toEqual([
      1, 1, 0,
    ]);
  });

  it("is asked through the host's agent, also when that has one connection for many scrapes", async () => {
    const exporter = await startExporter((socket, head) => {
      const again = answer(head.split(' ')[1] ?? '');
      socket.write(again);
      socket.on('data', (chunk) => socket.write(answer(chunk.toString('latin1').split(' ')[1] ?? '')));
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const proxy = connect({ url: exporter.url, agent, query: ['a'] });
    const asked = await Promise.all([1, 2, 3, 4, 5].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual([1, 2, 3, 4, 5].map((a) => `200 ${TEXT} /metrics?a=${a}`));
    expect(exporter.opened()).toBe(1);
  });

  it("times out also while a scrape waits for a connection of the host's agent", async () => {
    const exporter = await startExporter(() => {});
    const agent = new Agent({ maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const proxy = connect({ url: exporter.url, agent, query: ['a'], timeoutMs: LIMIT_MS });
    const asked = await Promise.all([1, 2].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual(['exporter_timeout', 'exporter_timeout']);
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
  });

  it('is asked without an Accept that could not be sent', async () => {
    const exporter = await startExporter(healthy);
    expect(await outcome(connect(exporter.url), { accept: 'text/plain\r\nX-Evil: 1' })).toContain('200 ');
    expect(exporter.requests[0]).not.toMatch(/^(accept:|x-evil)/im);
  });

  it('can be reached at an IPv6 address', async (context) => {
    const server = createServer((_request, response) => response.setHeader('Content-Type', TEXT).end(BODY));
    server.listen(0, '::1');
    const failed = once(server, 'error').then(() => true);
    if (await Promise.race([failed, once(server, 'listening').then(() => false)])) context.skip('needs IPv6');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await outcome(connect(`http://[::1]:${port}/metrics`))).toBe(`200 ${TEXT} ${BODY}`);
  });
});
