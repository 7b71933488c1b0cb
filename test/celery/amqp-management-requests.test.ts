import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { getJson } from '../../src/sources/celery/brokers/amqp/management/get-json.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';
import { managementAt, useManagementLab } from './amqp-management-lab.ts';
import { expectNoSecret, recordOutput } from './secret-watch.ts';

const { serve, later, end } = useManagementLab();

describe('the credentials of the management API', () => {
  it('are shown nowhere, whatever the server says', async () => {
    const written = recordOutput();
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
        later(async () => sources.close());
        await until(async () => (await componentOf(sources, 'broker')).config.management_error !== null);
        await sources.queues.listQueues(context);
        expectNoSecret(await sources.components.listComponents(context), sources, written);
        const { config } = await componentOf(sources, 'broker');
        expect(config.management).toBe(url);
      }
    }
  });
});

describe('a request of the management API', () => {
  async function failure(answer: RequestListener, ms = 30_000): Promise<unknown> {
    const limits = { signal: AbortSignal.timeout(ms), maxBytes: 1_000 };
    return getJson(managementAt(await serve(answer)), '/api/x', limits).catch((error: unknown) => error);
  }

  it('sends the login and reads JSON', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      const { authorization, accept } = request.headers;
      seen.push(request.method, request.url, accept, authorization);
      response.end('{"a":1}');
    });
    const limits = { signal: AbortSignal.timeout(30_000), maxBytes: 7 };
    expect(await getJson(managementAt(`${url}/base`), '/api/x?y=%2F', limits)).toEqual({
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
    await end();
    const limits = { signal: AbortSignal.timeout(30_000), maxBytes: 1_000 };
    const error = await getJson(managementAt(url), '/', limits).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ problem: { code: 'ECONNREFUSED' } });
  });
});
