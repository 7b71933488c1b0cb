import { Agent, createServer, type RequestListener } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources, type ManagementOptions } from '../../src/celery.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { collectGarbage } from '../helpers/collect-garbage.ts';
import { until } from '../helpers/redis-server.ts';
import { expectNoSecret, recordOutput } from './secret-watch.ts';

const URL_TEXT = 'http://127.0.0.1:15672';
const LOGIN = { username: 'S3CRETuser', password: 'S3CRETpassword' };

/** A source whose RabbitMQ is away, and whose management API is elsewhere. */
function open(management: ManagementOptions): CelerySources {
  const broker = 'amqp://S3CRETuser:S3CRETpassword@127.0.0.1:1/%2Fshop%20eu';
  const sources = celerySources({ broker, management, control: false });
  onTestFinished(() => sources.close());
  return sources;
}

/** @returns the URL of a server that answers like this */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const brokerConfig = async (sources: CelerySources) => (await componentOf(sources, 'broker')).config;

/** The sentence that tells what is wrong with the API. */
async function errorOf(sources: CelerySources): Promise<string> {
  await until(async () => (await brokerConfig(sources)).management_error !== null);
  return String((await brokerConfig(sources)).management_error);
}

describe("the option 'management'", () => {
  it('takes the URL with or without the path of the API, and shows it without login', async () => {
    const urls: (readonly [string | URL, string])[] = [
      [URL_TEXT, URL_TEXT],
      [`${URL_TEXT}/`, URL_TEXT],
      [`${URL_TEXT}/api`, URL_TEXT],
      [`${URL_TEXT}/api/?x=1#part`, URL_TEXT],
      ['https://127.0.0.1/rabbit/', 'https://127.0.0.1/rabbit'],
      [new URL('https://127.0.0.1/rabbit/api/'), 'https://127.0.0.1/rabbit'],
    ];
    for (const [url, shown] of urls) {
      expect((await brokerConfig(open({ url, ...LOGIN }))).management).toBe(shown);
    }
    const agent = new HttpsAgent();
    expect(() => open({ url: 'https://127.0.0.1:15671', ...LOGIN, agent })).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['a text', URL_TEXT, "'management' must be an object such as { url: 'http://rabbit:15672'"],
    ['a URL', new URL(URL_TEXT), "'management' must be an object"],
    ['an unknown key', { url: URL_TEXT, user: 'a' }, 'Write username instead'],
    ['no URL', LOGIN, "'management.url' must be the management API's whole URL"],
    ['no whole URL', { url: 'rabbit:15672/S3CRET', ...LOGIN }, "'management.url' must begin with http:"],
    ['another scheme', { url: 'amqp://a:S3CRET@rabbit', ...LOGIN }, "'management.url' must begin with http:"],
    [
      'a link-local address',
      { url: 'http://169.254.169.254', ...LOGIN },
      "'management.url' must not be a link-local",
    ],
    ['no login', { url: URL_TEXT }, 'write username and password'],
    ['two logins', { url: 'http://a:S3CRET@rabbit', ...LOGIN }, 'Remove one of them'],
    ['a broken login', { url: 'http://a:%E4@rabbit' }, 'Write % as %25'],
    [
      'a user with a colon',
      { url: URL_TEXT, username: 'a:S3CRET', password: '' },
      "'management.username' must be",
    ],
    ['no password', { url: URL_TEXT, username: 'S3CRET' }, "'management.password' must be a string"],
    ['another agent', { url: 'https://rabbit', ...LOGIN, agent: new Agent() }, 'an Agent of node:https'],
  ])('refuses %s', (_what, management, message) => {
    const create = (): unknown => open(management as ManagementOptions);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(/^celerySources: /);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/S3CRET/);
  });
});

/** What a server may answer that is no list of queues, and what is said of it. */
const FAILURES: readonly (readonly [string, RegExp, RequestListener])[] = [
  [
    'a missing right',
    /lacks the tag management/,
    (_request, response) => void response.writeHead(401).end('{}'),
  ],
  [
    'a wrong login',
    /user name or password/,
    (_request, response) =>
      void response.writeHead(401).end('{"error":"not_authorized","reason":"Login failed: S3CRET"}'),
  ],
  ['a missing virtual host', /./, (_request, response) => void response.writeHead(404).end('{}')],
  ['an error', /./, (_request, response) => void response.writeHead(500).end('S3CRETpassword')],
  ['a page', /./, (_request, response) => void response.end('<html>S3CRETpassword')],
  ['a body that is too large', /./, (_request, response) => void response.end('1'.repeat(9 * 1024 * 1024))],
  [
    'a compressed body',
    /./,
    (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('1'),
  ],
  [
    'half a body',
    /./,
    (_request, response) => {
      response.writeHead(200, { 'content-length': '3' });
      response.write('1', () => response.socket?.destroy());
    },
  ],
  ['no answer', /./, (_request, response) => void response.socket?.end()],
  ['another protocol', /./, (_request, response) => void response.socket?.end('AMQP\0\0\x09\x01')],
  [
    'the beginning of a body and then nothing',
    /does not answer/,
    (_request, response) => void response.write('1'),
  ],
  ['nothing', /does not answer/, () => {}],
  // A collection of garbage must not take the deadline with it.
  ['nothing while memory is scarce', /does not answer/, () => setImmediate(collectGarbage)],
];

describe('the management API', () => {
  it('is asked for the queues of one virtual host, with the needed columns alone, seldom', async () => {
    const seen: { at: number; request: readonly unknown[] }[] = [];
    const url = await serve((request, response) => {
      const { authorization, accept } = request.headers;
      seen.push({ at: performance.now(), request: [request.method, request.url, accept, authorization] });
      response.end('{"items": [], "page_count": 1}');
    });
    const sources = open({ url: `${url.replace('//', '//monitor:p%C3%A4%3Ass@')}/base` });
    await until(async () => {
      await Promise.all([1, 2, 3].map(() => sources.queues.listQueues(context)));
      return seen.length === 2;
    });
    const [first, second] = seen;
    const [method, path, accept, authorization] = first?.request ?? [];
    expect([method, accept]).toEqual(['GET', 'application/json']);
    expect(authorization).toBe(`Basic ${Buffer.from('monitor:pä:ss').toString('base64')}`);
    const { pathname, searchParams } = new URL(String(path), url);
    expect(pathname).toBe('/base/api/queues/%2Fshop%20eu');
    expect(searchParams.get('columns')).toBe(
      'name,messages_ready,messages_unacknowledged,exclusive,auto_delete',
    );
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(4_000);
    expect((await brokerConfig(sources)).management_error).toBeNull();
  });

  it('that fails is explained, and what it says is passed on to nobody', async () => {
    const written = recordOutput();
    const explained = FAILURES.map(async ([what, sentence, answer]) => {
      const url = await serve(answer);
      for (const management of [
        { url: url.replace('//', '//S3CRETuser:S3CRETpassword@') },
        { url: `${url}/?S3CRET`, ...LOGIN },
      ]) {
        const sources = open(management);
        let said = '';
        // On a busy machine, the first answer may come too late.
        await until(async () => {
          said = await errorOf(sources);
          return sentence.test(said);
        }).catch(() => {});
        expect([what, said]).toEqual([what, expect.stringMatching(sentence)]);
        await sources.queues.listQueues(context);
        expectNoSecret(await sources.components.listComponents(context), sources);
        expect((await brokerConfig(sources)).management).toBe(url);
      }
    });
    await Promise.all(explained);
    expectNoSecret(written);
  });

  it('is followed nowhere else', async () => {
    let hits = 0;
    const target = await serve((_request, response) => {
      hits += 1;
      response.end('1');
    });
    const errors = [301, 302, 307, 308].map(async (status) => {
      const url = await serve((_request, response) => {
        response.writeHead(status, { location: target }).end();
      });
      return errorOf(open({ url, ...LOGIN }));
    });
    expect(new Set(await Promise.all(errors)).size).toBe(1);
    expect(hits).toBe(0);
  });

  it('is not waited for at the end', async () => {
    let isGone = false;
    let isAsked = false;
    const url = await serve((request) => {
      isAsked = true;
      request.socket.once('close', () => {
        isGone = true;
      });
    });
    const sources = open({ url, ...LOGIN });
    await until(() => isAsked);
    await sources.close();
    await until(() => isGone);
  });
});
