import { createServer } from 'node:http';
import type { Request, RequestHandler, Router } from 'express';
import { afterAll, describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS, type ExpressMajor, type Listening, listen } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

const PATHS = [
  '/healthcheck',
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/:task_id/',
  '/api/tasks/:task_id/relations/',
  '/api/tasks/:task_id/graph/',
  '/api/tasks/:task_id/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
  '/metrics',
];

/** What route listers read: the path and the methods of each layer that is a route. */
function listRoutes({ stack }: Router): string[] {
  return stack.flatMap(({ route }) => {
    if (route === undefined) return [];
    const { methods } = route as unknown as { methods: Readonly<Record<string, boolean>> };
    const named = Object.keys(methods).filter((method) => method !== '_all');
    return `${named.join()} ${route.path}`;
  });
}

/** Wraps every layer as tracing does. @returns the paths of layers that requests went through */
function trace({ stack }: Router): string[] {
  const passed: string[] = [];
  for (const layer of stack) {
    const { handle } = layer;
    if (handle.length > 3) continue;
    layer.handle = (request: Request, response, next) => {
      passed.push(layer.route?.path ?? 'middleware');
      (handle as RequestHandler)(request, response, next);
    };
  }
  return passed;
}

describe.each(EXPRESS_MAJORS)('on $name, the layers of the router', (major) => {
  it('list the eleven routes and the page', () => {
    const page = ['get /', 'get /assets/:file'];
    const routes = PATHS.map((path) => `get ${path}`);
    expect(listRoutes(major.createMonitorRouter({ authorize: false }))).toEqual([...routes, ...page]);
    expect(listRoutes(major.createMonitorRouter({ authorize: false, dashboard: false }))).toEqual(routes);
  });

  it.each([
    ['/api/tasks/', '/api/tasks/'],
    ['/api/tasks', '/api/tasks/'],
    ['/api/tasks/a%2Fb/graph/', '/api/tasks/:task_id/graph/'],
    ['/metrics', '/metrics'],
    ['/', '/'],
  ])('show the route of %s to tracing and to authorize', async (path, route) => {
    const routes: string[] = [];
    const authorize = (request: Request) => {
      routes.push(request.route.path);
      return true;
    };
    const { get, router } = await serve(major, { sources: createShop().sources, authorize });
    const passed = trace(router);
    const { status } = await get(path, { ours: path !== '/' });
    expect(passed).toEqual([route]);
    // The other slash form is redirected before anybody is asked.
    expect(routes).toEqual(status === 308 ? [] : [route]);
  });

  it.each(['/api/tasks/%zz/', '/api/tasks/%E0%A4%A/graph/', '/api/tasks//'])(
    'leave the answer to %s to the core',
    async (path) => {
      const asked: string[] = [];
      const authorize = (_request: Request, route: string) => {
        asked.push(route);
        return true;
      };
      const { get } = await serve(major, { sources: createShop().sources, authorize });
      expect((await get(path, { method: 'POST' })).status).toBe(405);
      expect(asked).toEqual([]);
      expect((await get<{ code: string }>(path)).body.code).toBe('invalid_parameter');
      expect(asked).toHaveLength(1);
    },
  );
});

const servers: Listening[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

async function servePlainly({ createMonitorRouter }: ExpressMajor): Promise<string> {
  const router = createMonitorRouter({ sources: createShop().sources, authorize: false });
  // As hosts without an app write it.
  const server = await listen(createServer(router as never).listeners('request')[0] as never);
  servers.push(server);
  return server.url;
}

describe.each(EXPRESS_MAJORS)('on $name, on a plain Node server, the router', (major) => {
  it('answers its routes and the page, and 404 for every other path', async () => {
    const url = await servePlainly(major);
    const statuses = async (paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await fetch(url + path)).status));
    const answered = ['/', '/api/tasks/', '/api/tasks/none/', '/api/tasks/%zz/', '/api/components/'];
    expect(await statuses(answered)).toEqual([200, 200, 404, 400, 200]);
    expect(await statuses(['/elsewhere', '/assets/none.js', '//'])).toEqual([404, 404, 404]);
  });

  it('streams, and answers what Node itself would decode otherwise', async () => {
    const url = await servePlainly(major);
    const headers = { accept: 'text/event-stream' };
    const response = await fetch(`${url}/api/events/latest/`, { headers });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('vary')).toBe('Accept');
    await response.body?.cancel();
  });
});
