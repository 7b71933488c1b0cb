import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { type AddressInfo, type LookupFunction, Socket } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../helpers/redis-server.ts';
import { answer, BODY, healthy, startExporter, TEXT } from './fake-exporter.ts';
import { mount, outcome, PROXY_VERSIONS } from './metrics-host.ts';

const LIMIT_MS = 400;

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ use }) => {
  beforeEach(use);

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
    const proxy = await mount({ url: 'http://metadata.example/metrics', agent });
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
      const proxy = await mount({ url: `http://metadata.example:${exporter.port}/metrics`, agent });
      expect(await outcome(proxy)).toBe('exporter_unavailable');
      await until(() => exporter.open() === 0);
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
    expect(await outcome(await mount({ url: exporter.url, agent }))).toBe('exporter_unavailable');
    await until(() => exporter.open() === 0);
    expect(exporter.requests).toEqual([]);
  });

  it("leaves no listener on a connection of the host's agent that is used again", async () => {
    const exporter = await startExporter((socket) => {
      socket.write(answer(BODY));
      socket.on('data', () => socket.write(answer(BODY)));
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const proxy = await mount({ url: exporter.url, agent, query: ['a'] });
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
    const proxy = await mount({ url: exporter.url, agent, query: ['a'] });
    const asked = await Promise.all([1, 2, 3, 4, 5].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual([1, 2, 3, 4, 5].map((a) => `200 ${TEXT} /metrics?a=${a}`));
    expect(exporter.opened()).toBe(1);
  });

  it("times out also while a scrape waits for a connection of the host's agent", async () => {
    const exporter = await startExporter(() => {});
    const agent = new Agent({ maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const proxy = await mount({ url: exporter.url, agent, query: ['a'], timeoutMs: LIMIT_MS });
    const asked = await Promise.all([1, 2].map((a) => outcome(proxy, { query: `a=${a}` })));
    expect(asked).toEqual(['exporter_timeout', 'exporter_timeout']);
    await until(() => exporter.open() === 0);
  });

  it('can be reached at an IPv6 address', async (context) => {
    const server = createServer((_request, response) => response.setHeader('Content-Type', TEXT).end(BODY));
    server.listen(0, '::1');
    const failed = once(server, 'error').then(() => true);
    if (await Promise.race([failed, once(server, 'listening').then(() => false)])) context.skip('needs IPv6');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await outcome(await mount(`http://[::1]:${port}/metrics`))).toBe(`200 ${TEXT} ${BODY}`);
  });
});
