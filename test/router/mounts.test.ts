import { gunzipSync } from 'node:zlib';
import compression from 'compression';
import type { Express } from 'express';
import helmet from 'helmet';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ComponentsBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { EXPRESS_MAJORS, type ExpressMajor, listen } from '../helpers/hosts.ts';
import { type HostOptions, serve } from './host-kit.ts';
import { createShop, START } from './shop-sources.ts';

const REQUESTS: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/healthcheck'],
  ['GET', '/api/tasks/?limit=3'],
  ['HEAD', '/api/tasks/?limit=3'],
  ['GET', '/api/tasks/?limit=0&nonsense[a]=1&state='],
  ['GET', '/api/tasks/task-0001/'],
  ['GET', '/api/tasks/a%2Fb/'],
  ['GET', '/api/tasks/%zz/'],
  ['GET', '/api/tasks/task-0001/relations/'],
  ['GET', '/api/tasks/task-0001/graph/'],
  ['GET', '/api/workers/'],
  ['GET', '/api/events/latest/?state=SUCCESS&state=FAILURE'],
  ['GET', '/api/beat/schedules/'],
  ['GET', '/metrics'],
  ['GET', '/api/workers?x=1'],
  ['POST', '/api/workers/'],
  ['OPTIONS', '/api/workers/'],
];

const SAME = [
  'content-type',
  'content-length',
  'cache-control',
  'etag',
  'link',
  'location',
  'allow',
  'retry-after',
  'x-content-type-options',
];

/** Moments, which differ from one answer to the next. */
const MOMENTS = /"\d{4}-\d\d-\d\dT[\d:.]+Z"|"latency_ms":[\d.]+/g;
/** What a graph's cursor is made from differs from one monitor to the next. */
const CURSOR = /"cursor":"[^"]*"/g;

async function answersOf(major: ExpressMajor, options: HostOptions) {
  const shop = createShop();
  shop.status = { ok: true, asOf: new Date(0) };
  const { get } = await serve(major, { sources: shop.sources }, options);
  const answers = [];
  for (const [method, path] of REQUESTS) {
    const { status, headers, text } = await get(path, { method });
    const isGraph = path.includes('/graph/');
    const isHealth = path === '/healthcheck';
    answers.push({
      request: `${method} ${path}`,
      status,
      headers: SAME.filter(
        (name) => !(isGraph && name === 'etag') && !(isHealth && name === 'content-length'),
      ).map((name) => [name, headers[name]]),
      text: text.replaceAll(MOMENTS, 'T').replaceAll(CURSOR, 'C'),
    });
  }
  return answers;
}

const MOUNTS: Readonly<Record<string, (major: ExpressMajor) => HostOptions>> = {
  'at the root': () => ({ mount: '/' }),
  'under a prefix of two segments': () => ({ mount: '/ops/monitor' }),
  'under a prefix with a parameter that is called like ours': () => ({
    mount: '/t/:task_id/m',
    path: '/t/a%20b/m',
  }),
  'two routers deep': ({ express }) => ({
    path: '/a/b/c',
    place(app, router) {
      const outer = express.Router();
      const inner = express.Router({ mergeParams: true });
      inner.use('/c', router);
      outer.use('/b', inner);
      app.use('/a', outer);
    },
  }),
  'for one virtual host': ({ express }) => ({
    path: '/m',
    place(app, router) {
      const own = express().use('/m', router);
      app.use((request, response, next) =>
        request.hostname === '127.0.0.1' ? own(request, response, next) : next(),
      );
    },
  }),
  'in an app within the app': ({ express }) => ({
    path: '/sub/monitor',
    place(app, router) {
      const sub = express();
      sub.set('json spaces', 4);
      sub.use('/monitor', router);
      app.use('/sub', sub);
    },
  }),
  'with strict and case-sensitive routing': () => ({
    before: set({ 'strict routing': true, 'case sensitive routing': true }),
  }),
  'with settings that change res.json': () => ({
    before: set({ 'json spaces': 2, 'json escape': true, 'json replacer': () => 'x', etag: 'strong' }),
  }),
  'with a query parser of another kind': () => ({ before: set({ 'query parser': 'extended' }) }),
  'without a query parser': () => ({ before: set({ 'query parser': false }) }),
  'behind body parsers': ({ express }) => ({
    before: (app) => void app.use(express.json(), express.urlencoded({ extended: true }), express.text()),
  }),
  'behind compression': () => ({ before: (app) => void app.use(compression({ threshold: 0 })) }),
  "behind helmet's default policy": () => ({ before: (app) => void app.use(helmet()) }),
  'behind a middleware that holds back each end, as sessions do': () => ({
    before: (app) =>
      void app.use((_request, response, next) => {
        const { end } = response;
        response.end = function endLater(this: typeof response, ...given: unknown[]) {
          setImmediate(() => Reflect.apply(end, this, given));
          return this;
        } as typeof end;
        next();
      }),
  }),
  'behind a middleware that sets headers of its own': () => ({
    before: (app) =>
      void app.use((_request, response, next) => {
        response.setHeader('Cache-Control', 'public, max-age=3600');
        response.setHeader('Content-Type', 'text/html');
        response.statusCode = 418;
        next();
      }),
  }),
};

function set(settings: Readonly<Record<string, unknown>>) {
  return (app: Express): void => {
    for (const [name, value] of Object.entries(settings)) app.set(name, value);
  };
}

/** What the first version of Express answers at a plain mount. */
let plain: ReturnType<typeof answersOf> | null = null;

afterEach(() => {
  vi.useRealTimers();
});

describe.each(EXPRESS_MAJORS)('on $name, a router', (major) => {
  it.each(Object.keys(MOUNTS))('answers the same when it is mounted %s', async (name) => {
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    plain ??= answersOf(EXPRESS_MAJORS[0] ?? major, {});
    const expected = await plain;
    expect(await answersOf(major, MOUNTS[name]?.(major) ?? {})).toEqual(expected);
  });

  it.each([
    ['/', '/', '/'],
    ['/ops/monitor', '/ops/monitor', '/ops/monitor'],
    ['/t/:tenant/m', '/t/acme/m', '/t/acme/m'],
  ])('mounted at %s says that it is found at %s', async (mount, path, url) => {
    const { get } = await serve(major, {}, { mount, path });
    const { body } = await get<ComponentsBody>('/api/components/');
    expect(body.web).toMatchObject({ status: 'up', pid: process.pid, url });
  });

  it('says that it is found where the host says', async () => {
    const { get } = await serve(major, { publicUrl: 'https://user:pw@example.com/ops?token=1' });
    expect((await get<ComponentsBody>('/api/components/')).body.web?.url).toBe('https://example.com/ops');
  });

  it('sends compressed bodies through a compressing host, that unpack to the same', async () => {
    const { get } = await serve(
      major,
      { sources: createShop().sources },
      { before: (app) => void app.use(compression({ threshold: 0 })) },
    );
    const headers = { 'accept-encoding': 'gzip' };
    const packed = await get('/api/beat/schedules/', { headers, ours: false });
    expect(packed.headers['content-encoding']).toBe('gzip');
    const plain = await get('/api/beat/schedules/');
    expect(JSON.parse(gunzipSync(packed.bytes).toString()).schedules).toEqual(
      (plain.body as { schedules: unknown }).schedules,
    );
    expect(packed.headers.etag).toBe(plain.headers.etag);
    const known = { ...headers, 'if-none-match': String(plain.headers.etag) };
    expect((await get('/api/beat/schedules/', { headers: known })).status).toBe(304);
  });

  it('can be mounted twice, beside another', async () => {
    const { get, url } = await serve(
      major,
      { sources: createShop(3).sources },
      {
        place(app, router) {
          app.use('/monitor', router);
          app.use('/again', router);
          app.use('/other', major.createMonitorRouter({ authorize: false }));
        },
        path: '/monitor',
      },
    );
    const [one, two] = [
      await get<ComponentsBody>('/api/components/'),
      await ask<ComponentsBody>(`${url}/again`, '/api/components/'),
    ];
    expect([one.body.web?.url, two.body.web?.url]).toEqual(['/monitor', '/again']);
    expect((await ask(`${url}/other`, '/api/tasks/')).status).toBe(501);
  });

  it('asks routes that the host adds to it after its own', async () => {
    const { get } = await serve(
      major,
      {},
      {
        place(app, router) {
          router.get('/extra', (_request, response) => void response.end('extra'));
          router.get('/metrics', (_request, response) => void response.end('never'));
          app.use('/monitor', router);
        },
        path: '/monitor',
      },
    );
    expect((await get('/extra', { ours: false })).text).toBe('extra');
    expect((await get('/metrics')).status).toBe(404);
  });

  it('leaves links that the host has set', async () => {
    const before = (app: Express): void =>
      void app.use((_request, response, next) => {
        response.setHeader('Link', '</style.css>; rel="preload"');
        next();
      });
    const { get } = await serve(major, { sources: createShop().sources }, { before });
    const { headers } = await get('/api/tasks/?limit=1');
    expect(headers.link).toMatch(/^<\/style\.css>; rel="preload", <\?limit=1&cursor=.*>; rel="next"$/);
  });
});

describe.each(EXPRESS_MAJORS)('on $name, createMonitorRouter', (major) => {
  it('says what to write when it is handed to app.use without a call', async () => {
    const { express, createMonitorRouter } = major;
    const errors: unknown[] = [];
    const app = express();
    app.use('/monitor', createMonitorRouter as never);
    app.use(((error, _request, response, _next) => {
      errors.push(error);
      response.status(500).end();
    }) as import('express').ErrorRequestHandler);
    const server = await listen(app);
    await ask(`${server.url}/monitor`, '/healthcheck', { ours: false });
    await server.close();
    expect(String(errors[0])).toMatch(/Write app\.use\(createMonitorRouter\(\{ … \}\)\)/);
  });
});
