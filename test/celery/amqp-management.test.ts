import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatWithOptions, inspect } from 'node:util';
import createDebug from 'debug';
import { afterEach, describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { getJson } from '../../src/sources/celery/brokers/amqp/management/get-json.ts';
import { createManagedQueues } from '../../src/sources/celery/brokers/amqp/management/managed-queues.ts';
import { resolveManagement } from '../../src/sources/celery/brokers/amqp/management/management-options.ts';

import { componentOf, context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';

const LOGIN = { username: 'monitor', password: 'covert' };

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A server that answers like a management API, or does not. @returns its URL */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function resolved(url: string) {
  const management = resolveManagement({ url, ...LOGIN });
  if (management === null) throw new Error('No management.');
  return management;
}

/** A page of rows. */
function page(items: readonly unknown[], pages = 1): string {
  return JSON.stringify({ items, page_count: pages });
}

function row(name: string, more: object = {}): object {
  return {
    name,
    messages_ready: 1,
    messages_unacknowledged: 2,
    exclusive: false,
    auto_delete: false,
    ...more,
  };
}

describe('the credentials of the management API', () => {
  it('are shown nowhere, whatever the server says', async () => {
    const written: string[] = [];
    createDebug.enable('express-task-monitor*');
    createDebug.log = (...values: unknown[]) => written.push(formatWithOptions({}, ...values));
    const answers: RequestListener[] = [
      (_request, response) => void response.writeHead(401).end('{"reason":"S3CRETuser:S3CRETpassword"}'),
      (_request, response) => void response.end('S3CRETpassword'),
      (request, response) => void response.end(JSON.stringify(request.headers)),
      (request, response) =>
        void response.writeHead(302, { location: `/${request.headers.authorization}` }).end(),
    ];
    for (const answer of answers) {
      const url = await serve(answer);
      for (const management of [
        { url: url.replace('//', '//S3CRETuser:S3CRETpassword@') },
        { url: `${url}/?S3CRET`, username: 'S3CRETuser', password: 'S3CRETpassword' },
      ]) {
        const sources = celerySources({
          broker: 'amqp://S3CRETuser:S3CRETpassword@127.0.0.1:1/',
          management,
        });
        ends.push(async () => sources.close());
        await until(async () => (await componentOf(sources, 'broker')).config.management_error !== null);
        await sources.queues.listQueues(context);
        const shown = [await sources.components.listComponents(context), sources, written];
        for (const value of shown)
          expect(inspect(value, { depth: 20, showHidden: true })).not.toContain('S3CRET');
        const { config } = await componentOf(sources, 'broker');
        expect(config.management).toBe(url);
      }
    }
    createDebug.disable();
  });
});

describe('a request of the management API', () => {
  async function failure(answer: RequestListener, ms = 30_000): Promise<unknown> {
    const limits = { signal: AbortSignal.timeout(ms), maxBytes: 1_000 };
    return getJson(resolved(await serve(answer)), '/api/x', limits).catch((error: unknown) => error);
  }

  it('sends the login and reads JSON', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      const { authorization, accept } = request.headers;
      seen.push(request.method, request.url, accept, authorization);
      response.end('{"a":1}');
    });
    const limits = { signal: AbortSignal.timeout(30_000), maxBytes: 7 };
    expect(await getJson(resolved(`${url}/base`), '/api/x?y=%2F', limits)).toEqual({
      value: { a: 1 },
      bytes: 7,
    });
    const authorization = `Basic ${Buffer.from('monitor:covert').toString('base64')}`;
    expect(seen).toEqual(['GET', '/base/api/x?y=%2F', 'application/json', authorization]);
  });

  const FAILURES: readonly (readonly [string, string, RequestListener])[] = [
    ['a missing right', 'NOPERM', (_request, response) => void response.writeHead(401).end('{}')],
    [
      'a wrong login',
      'WRONGPASS',
      (_request, response) =>
        void response.writeHead(401).end('{"error":"not_authorized","reason":"Login failed"}'),
    ],
    ['a missing virtual host', 'NOTFOUND', (_request, response) => void response.writeHead(404).end('{}')],
    ['an error', 'INVALID', (_request, response) => void response.writeHead(500).end('{}')],
    ['a page', 'INVALID', (_request, response) => void response.end('<html>')],
    ['a large body', 'TOOLARGE', (_request, response) => void response.end('1'.repeat(1_001))],
    [
      'a large body without its length',
      'TOOLARGE',
      (_request, response) => {
        response.write('1'.repeat(999));
        response.end('11');
      },
    ],
    [
      'a compressed body',
      'INVALID',
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('1'),
    ],
    [
      'half a body',
      'INVALID',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '3' });
        response.write('1', () => response.socket?.destroy());
      },
    ],
    ['no answer', 'ECONNRESET', (_request, response) => void response.socket?.end()],
    ['another protocol', 'INVALID', (_request, response) => void response.socket?.end('AMQP\0\0\x09\x01')],
  ];

  it.each(FAILURES)('explains %s', async (_what, code, answer) => {
    const error = await failure(answer);
    expect(error).toMatchObject({ problem: { code } });
    expect(String(error)).not.toMatch(/covert|monitor:|127\.0\.0\.1/);
  });

  it('follows no redirect', async () => {
    let hits = 0;
    const target = await serve((_request, response) => {
      hits += 1;
      response.end('1');
    });
    for (const status of [301, 302, 307, 308]) {
      const error = await failure(
        (_request, response) => void response.writeHead(status, { location: target }).end(),
      );
      expect(error).toMatchObject({ problem: { code: 'REDIRECT' } });
    }
    expect(hits).toBe(0);
  });

  it('ends in time, also in the middle of a body', async () => {
    expect(await failure(() => {}, 50)).toMatchObject({ problem: { code: 'TimeoutError' } });
    const slow = await failure((_request, response) => void response.write('1'), 200);
    expect(slow).toMatchObject({ problem: { code: 'TimeoutError' } });
  });

  it('explains that nothing listens', async () => {
    const url = await serve(() => {});
    for (const end of ends.splice(0)) await end();
    const limits = { signal: AbortSignal.timeout(30_000), maxBytes: 1_000 };
    const error = await getJson(resolved(url), '/', limits).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ problem: { code: 'ECONNREFUSED' } });
  });
});

describe('the queues in a management API', () => {
  it('are those of one virtual host, with the needed columns alone', async () => {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.end(
        page([row('a'), row('b', { messages_ready: 'many', exclusive: true }), { name: 3 }, null]),
      );
    });
    const managed = createManagedQueues(resolved(url), '/shop eu');
    expect(managed.queues()).toBeNull();
    await managed.refresh();
    expect([...(managed.queues() ?? [])]).toEqual([
      ['a', { ready: 1, unacknowledged: 2, isExclusive: false, isAutoDelete: false }],
      ['b', { ready: null, unacknowledged: 2, isExclusive: true, isAutoDelete: false }],
    ]);
    expect(managed.problem()).toBeNull();
    expect(managed.isWhole()).toBe(true);
    const { pathname, searchParams } = new URL(paths[0] ?? '', url);
    expect(pathname).toBe('/api/queues/%2Fshop%20eu');
    expect(searchParams.get('columns')).toBe(
      'name,messages_ready,messages_unacknowledged,exclusive,auto_delete',
    );
  });

  it('are read page by page, and not too many of them', async () => {
    const url = await serve((request, response) => {
      const at = Number(new URL(request.url ?? '', 'http://a').searchParams.get('page'));
      response.end(
        page(
          Array.from({ length: 500 }, (_, index) => row(`q${at}-${index}`)),
          1_000,
        ),
      );
    });
    const managed = createManagedQueues(resolved(url), '/');
    await managed.refresh();
    expect(managed.queues()?.size).toBe(10_000);
    expect(managed.isWhole()).toBe(false);
  });

  it('are read once in five seconds, by one request at a time', async () => {
    let now = 0;
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.end(page([]));
    });
    const managed = createManagedQueues(resolved(url), '/', () => now);
    await Promise.all([managed.refresh(), managed.refresh()]);
    now = 4_999;
    await managed.refresh();
    expect(requests).toBe(1);
    now = 5_000;
    await managed.refresh();
    expect(requests).toBe(2);
  });

  it('stay for a while when the API fails, and come back', async () => {
    let now = 0;
    let isUp = true;
    const url = await serve((_request, response) => {
      if (isUp) response.end(page([row('a')]));
      else response.writeHead(500).end();
    });
    const managed = createManagedQueues(resolved(url), '/', () => now);
    await managed.refresh();
    isUp = false;
    now = 10_000;
    await managed.refresh();
    expect(managed.queues()?.size).toBe(1);
    expect(managed.problem()?.code).toBe('INVALID');
    now = 20_000;
    await managed.refresh();
    expect(managed.queues()).toBeNull();
    isUp = true;
    now = 30_000;
    await managed.refresh();
    expect(managed.queues()?.size).toBe(1);
    expect(managed.problem()).toBeNull();
  });

  it('are not asked for after the end, which ends a request under way', async () => {
    let requests = 0;
    const url = await serve(() => {
      requests += 1;
    });
    const managed = createManagedQueues(resolved(url), '/');
    const reading = managed.refresh();
    managed.close();
    await reading;
    await managed.refresh();
    expect(requests).toBeLessThanOrEqual(1);
    expect(managed.queues()).toBeNull();
  });
});
