import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { type ClientHttp2Stream, connect, createSecureServer, createServer } from 'node:http2';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { createMonitorHandler, type MonitorHandlerOptions } from '../../src/node.ts';
import { makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

const FEED = '/api/events/latest/';
const STREAM = { accept: 'text/event-stream' };

const certificates = tlsMissing === null ? makeCertificates() : null;
afterAll(() => certificates?.remove());

const TLS = certificates && {
  cert: readFileSync(certificates.server.cert),
  key: readFileSync(certificates.server.key),
  ca: readFileSync(certificates.ca),
};

/**
 * Serves a handler over HTTP/2 until the test is over.
 *
 * @param isSecure whether with TLS, on a server that also answers HTTP/1
 */
async function serve(options: MonitorHandlerOptions, isSecure = false) {
  const queue = memorySources();
  const errors: unknown[] = [];
  const handler = createMonitorHandler({
    ...{ sources: queue, authorize: false, onError: (error) => errors.push(error), ...options },
  });
  // Requests and responses of HTTP/2 have the interface of those of HTTP/1, but not their types.
  const listener: RequestListener = (request, response) =>
    handler(request, response, (error) => {
      if (error !== undefined) errors.push(error);
      response.end('app');
    });
  const server = isSecure
    ? createSecureServer({ ...TLS, allowHTTP1: true }, listener as never)
    : createServer(listener as never);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const session = connect(`${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, { ca: TLS?.ca });
  onTestFinished(async () => {
    session.destroy();
    await handler.close();
    server.close();
    expect(errors).toEqual([]);
  });
  return {
    queue,
    port,
    open: (path: string, headers = {}) => session.request({ ':path': path, ...headers }),
  };
}

async function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  const [headers] = await once(stream, 'response');
  return headers[':status'];
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  stream.setEncoding('utf8');
  let text = '';
  for await (const part of stream) text += part;
  return text;
}

describe('over HTTP/2, the handler', () => {
  it.each(tlsMissing === null ? [false, true] : [false])(
    'answers and streams, with TLS: %s',
    async (isSecure) => {
      const { queue, open } = await serve({}, isSecure);
      queue.record({ id: '1', state: 'STARTED', name: 'pay' });
      expect(JSON.parse(await textOf(open('/api/tasks/')))).toMatchObject({ tasks: [{ task_id: '1' }] });
      expect(await statusOf(open('/api/tasks/1/', { ':method': 'HEAD' }))).toBe(200);
      expect(await textOf(open('/elsewhere'))).toBe('app');
      const stream = open(FEED, STREAM);
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      await until(() => text.split('data: ').length === 2);
      queue.record({ id: '2', state: 'STARTED', name: 'ship' });
      await until(() => text.split('data: ').length === 3);
      expect(text).toContain('"task_id":"2"');
      stream.close();
    },
  );

  it.skipIf(tlsMissing)(titleUnless(tlsMissing, 'answers clients of HTTP/1 on the same server'), async () => {
    const { queue, port } = await serve({}, true);
    queue.record({ id: '1', state: 'STARTED', name: 'pay' });
    const [response] = await once(
      get({ port, host: '127.0.0.1', path: '/api/tasks/1/', ca: TLS?.ca, agent: false }),
      'response',
    );
    let text = '';
    for await (const part of response) text += part;
    expect([response.statusCode, response.httpVersion, JSON.parse(text).name]).toEqual([200, '1.1', 'pay']);
  });

  it('redirects to a sign-in of its own origin', async () => {
    const authorize: MonitorHandlerOptions['authorize'] = ({ headers }) => ({
      redirect: `http://${headers[':authority']}/login`,
    });
    const { open, port } = await serve({ authorize });
    const [headers] = await once(open('/', { accept: 'text/html' }), 'response');
    expect([headers[':status'], headers.location]).toEqual([302, `http://127.0.0.1:${port}/login`]);
  });

  it('frees the places of streams and reads that are cancelled while authorize decides', async () => {
    const decisions: ((isAllowed: boolean) => void)[] = [];
    const { open } = await serve({
      authorize: () => new Promise<boolean>((resolve) => void decisions.push(resolve)),
      limits: { streams: 3 },
    });
    let ended = 0;
    for (let count = 0; count < 10; count += 1) {
      for (const [path, headers] of [
        [FEED, STREAM],
        ['/api/tasks/', {}],
      ] as const) {
        const stream = open(path, headers).on('error', () => {});
        stream.on('close', () => (ended += 1));
        await until(() => decisions.length === 1);
        stream.destroy();
        await until(() => ended > 0);
        ended = 0;
        // An answer on the same connection says that the server knows of the end.
        const other = open('/healthcheck');
        await until(() => decisions.length === 2);
        for (const decide of decisions.splice(0)) decide(true);
        expect(await statusOf(other)).toBe(200);
      }
    }
    const streams = [open(FEED, STREAM), open(FEED, STREAM), open(FEED, STREAM)];
    await until(() => decisions.length === 3);
    for (const decide of decisions.splice(0)) decide(true);
    expect(await Promise.all(streams.map(statusOf))).toEqual([200, 200, 200]);
    for (const stream of streams) stream.close();
  });
});
