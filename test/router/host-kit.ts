/** Hosts for tests: an app with the router in it, a route of its own, and an error handler that should stay idle. */
import type { ErrorRequestHandler, Express } from 'express';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import type { MonitorOptions, MonitorRouter } from '../../src/index.ts';
import { type Answer, type AskOptions, ask } from '../helpers/ask.ts';
import { type ExpressMajor, listen } from '../helpers/hosts.ts';

export { until } from '../helpers/redis-server.ts';

/** A host that listens. */
export interface Host {
  /** The address that the router is mounted at. */
  readonly base: string;
  /** The host's own address. */
  readonly url: string;
  readonly router: MonitorRouter;
  /** What reached the host's error handler. The test fails when it is not empty at its end. */
  readonly errors: unknown[];
  get<Body = unknown>(path: string, options?: AskOptions): Promise<Answer<Body>>;
}

/** How to set a host up. */
export interface HostOptions {
  /** Path in Express's own words. Default `/monitor`. */
  readonly mount?: string;
  /** The same path in a request. Default: `mount`. */
  readonly path?: string;
  /** Settings and middleware in front of the router. */
  readonly before?: (app: Express) => void;
  /** Mounts the router. Default: `app.use(mount, router)`. */
  readonly place?: (app: Express, router: MonitorRouter) => void;
  /** Serves the app. Default: on a port of its own. */
  readonly listenWith?: typeof listen;
}

/** Serves a router until the test is over. */
export async function serve(...given: Parameters<typeof start>): Promise<Host> {
  const host = await start(...given);
  onTestFinished(() => host.close());
  return host;
}

/** Serves one router for all tests of a suite. @returns the host, for use within tests */
export function serveAll(...given: Parameters<typeof start>): () => Host {
  let host: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    host = await start(...given);
  });
  afterAll(() => host.close());
  return () => host;
}

async function start(
  { express, createMonitorRouter }: ExpressMajor,
  options: MonitorOptions,
  { mount = '/monitor', path = mount, before, place, listenWith = listen }: HostOptions = {},
): Promise<Host & { close(): Promise<void> }> {
  const app = express();
  const errors: unknown[] = [];
  // A machine that is busy is no source that hangs: a test of deadlines sets its own.
  const router = createMonitorRouter({ authorize: false, timeoutMs: 60_000, ...options });
  before?.(app);
  if (place === undefined) app.use(mount, router);
  else place(app, router);
  app.get('/canary', (_request, response) => void response.end('sings'));
  app.use((_request, response) => void response.status(404).end('host'));
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    errors.push(error);
    response.status(500).end('host');
  };
  app.use(onError);
  const server = await listenWith(app);
  const base = `${server.url}${path}`.replace(/\/$/, '');
  return {
    base,
    url: server.url,
    router,
    errors,
    get: (target, init) => ask(base, target, init),
    async close() {
      await router.close();
      await server.close();
      expect(errors).toEqual([]);
    },
  };
}
