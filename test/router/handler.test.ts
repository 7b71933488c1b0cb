import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMonitorHandler, type MonitorHandlerOptions } from '../../src/node.ts';
import type { ComponentsBody, ProblemBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { listen } from '../helpers/hosts.ts';
import { createShop } from './shop-sources.ts';

type Handler = ReturnType<typeof createMonitorHandler>;

/** Serves a handler until the test is over. @param hostOf the host's own listener around it */
async function serve(
  options: MonitorHandlerOptions,
  hostOf = (handler: Handler): RequestListener => handler,
) {
  const handler = createMonitorHandler({ sources: createShop().sources, authorize: false, ...options });
  const { url, close } = await listen(hostOf(handler));
  onTestFinished(async () => {
    await handler.close();
    await close();
  });
  return { url, handler };
}

/** Removes the mount path from `url`, as connect does. */
const mountedAt =
  (mount: string) =>
  (handler: Handler): RequestListener =>
  (request, response) => {
    const { url = '' } = request;
    const rest = url.slice(mount.length);
    Object.assign(request, { originalUrl: url, url: rest.startsWith('/') ? rest : `/${rest}` });
    handler(request, response);
  };

describe("the handler on Node's own server", () => {
  it('answers the routes and the page, streams, and answers 404 for every other path', async () => {
    const { url } = await serve({});
    expect((await ask<TasksBody>(url, '/api/tasks/?limit=2')).body.tasks).toHaveLength(2);
    expect((await ask(url, '/api/workers?state=none')).headers.location).toBe('./workers/?state=none');
    expect((await ask(url, '/', { ours: false })).headers['content-type']).toBe('text/html; charset=utf-8');
    const stream = await askStream(url, '/api/events/latest/');
    stream.close();
    const elsewhere = await ask(url, '/elsewhere', { ours: false });
    expect([elsewhere.status, elsewhere.text]).toEqual([404, '']);
  });

  it.each([
    ['with basePath', { basePath: '/ops/monitor' }, undefined],
    ['with basePath and a slash at its end', { basePath: '/ops/monitor/' }, undefined],
    ['below a host that removes the path', {}, mountedAt('/ops/monitor')],
    ['below such a host, with basePath', { basePath: '/ops/monitor' }, mountedAt('/ops/monitor')],
  ] as const)('is found below a path %s', async (_, options, hostOf) => {
    const { url } = await serve(options, hostOf);
    const base = `${url}/ops/monitor`;
    expect((await ask<TasksBody>(base, '/api/tasks/?limit=2')).body.tasks).toHaveLength(2);
    expect((await ask<ComponentsBody>(base, '/api/components/')).body.web?.url).toBe('/ops/monitor');
    const page = await ask(url, '/ops/monitor?a=b', { ours: false });
    expect([page.status, page.headers.location]).toEqual([308, './monitor/?a=b']);
    expect((await ask(base, '/', { ours: false })).status).toBe(200);
  });

  it('passes what is not below basePath to next, with its URL unchanged', async () => {
    const { url } = await serve(
      { basePath: '/monitor' },
      (handler) => (request, response) => handler(request, response, () => response.end(request.url)),
    );
    for (const path of ['/', '/monitoring/api/tasks/', '/monitor/elsewhere', '/api/tasks/']) {
      expect((await ask(url, path, { ours: false })).text).toBe(path);
    }
  });

  it('passes authorize the request of the host', async () => {
    const { url } = await serve(
      {
        basePath: '/monitor',
        authorize: (request: IncomingMessage & { user?: string }) => request.user === 'ann',
      },
      (handler) => (request, response) => {
        handler(Object.assign(request, { user: request.headers['x-user'] }), response);
      },
    );
    const statuses = await Promise.all(
      ['ann', 'bob'].map(async (user) => {
        const { status } = await ask(`${url}/monitor`, '/api/workers/', { headers: { 'x-user': user } });
        return status;
      }),
    );
    expect(statuses).toEqual([200, 403]);
  });

  it('answers 503 once it is closed', async () => {
    const { url, handler } = await serve({});
    await handler.close();
    const { status, body } = await ask<ProblemBody>(url, '/api/tasks/');
    expect([status, body.code]).toEqual([503, 'overloaded']);
  });
});

describe('createMonitorHandler', () => {
  it.each(['monitor', '', '//monitor', '/a b', '/monitor?a=b', 1, null])(
    'refuses the basePath %j',
    (basePath) => {
      expect(() => createMonitorHandler({ basePath } as never)).toThrow(
        /'basePath' must be a path such as '\/monitor'/,
      );
    },
  );

  it('says what to write when it is handed to a server without a call', () => {
    const request = { method: 'GET', headers: {}, url: '/' };
    expect(() => createMonitorHandler(request as never)).toThrow(
      'Write createServer(createMonitorHandler({ … })).',
    );
  });
});
