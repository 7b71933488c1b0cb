import { type NextFunction, type Request, type Response, Router } from 'express';
import { createCore, type MonitorCore } from './http/core.ts';
import { createMonitor } from './http/monitor.ts';
import { resolveOptions } from './options/resolve-options.ts';
import type { MonitorOptions } from './options.ts';
import { ROUTES } from './routes/index.ts';
import { isRecord } from './values.ts';

/** An Express Router that can be closed. */
export interface MonitorRouter extends Router {
  /**
   * Ends open requests and closes the sources that no other router uses. Later requests are answered with 503
   * `overloaded`. Resolves within 1.5 s, also when called again; never rejects.
   */
  close(): Promise<void>;
}

/**
 * Creates the router for the eleven routes and the page, relative to the path that it is mounted at:
 * `app.use('/monitor', createMonitorRouter({ sources }))`.
 *
 * @throws TypeError that says what to write, for options that are unknown or wrong
 */
export function createMonitorRouter(options?: MonitorOptions): MonitorRouter {
  refuseRequest(options);
  const resolved = resolveOptions(options);
  if (resolved.unguarded) warnUnguarded();
  const core = createCore(createMonitor(resolved), ROUTES);
  const router = Router({ caseSensitive: true });
  addLayers(router, core, resolved.dashboard !== null);
  allowPlainServer(router);
  return Object.assign(router, { close: () => core.close() });
}

const PAGE_PATHS = ['/', '/assets/:file'];

/**
 * Adds a layer for each path, so that tracing and route listers see it and `request.route` is set. Layers only
 * lead to the core: Express decodes paths, and answers what it cannot decode before it would ask `authorize`.
 */
function addLayers(router: Router, { answer }: MonitorCore, hasPage: boolean): void {
  const paths = ROUTES.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
  for (const path of hasPage ? [...paths, ...PAGE_PATHS] : paths) {
    // Other methods are refused by the core, too. Route listers show only `get`.
    router.route(path).get(answer).all(answer);
  }
  // Paths that Express does not match with these layers: an empty id ...
  router.use(answer);
  // ... and an id that it cannot decode.
  router.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (error instanceof URIError) answer(request, response, next);
    else next(error);
  });
}

type Handle = (request: Request, response: Response, next: NextFunction) => void;

/** Makes `http.createServer(router)` work: a router of Express throws when `next` is missing. */
function allowPlainServer(router: Router): void {
  // Every router of Express 4 and 5 has this method, and calls it for each request; the types do not declare it.
  const routed = router as unknown as { handle: Handle };
  const handle = routed.handle;
  routed.handle = function handleRequest(request, response, next = endPlainly(response)) {
    handle.call(router, request, response, next);
  };
}

/** Ends a request that the router does not answer, on a server without an app of Express. */
function endPlainly(response: Response): NextFunction {
  return (error?: unknown) => {
    if (response.headersSent) return;
    response.statusCode = error === undefined ? 404 : 500;
    response.end();
  };
}

/** `app.use(createMonitorRouter)` makes Express call it with a request. */
function refuseRequest(options: unknown): void {
  if (isRecord(options) && 'method' in options && 'headers' in options && 'url' in options) {
    throw new TypeError(
      'createMonitorRouter was passed to app.use without being called. Write app.use(createMonitorRouter({ … })).',
    );
  }
}

let warned = false;

function warnUnguarded(): void {
  if (warned || process.env.NODE_ENV !== 'production') return;
  warned = true;
  process.emitWarning(
    'Everybody who can reach this monitor sees everything. Pass createMonitorRouter an authorize function, or authorize: false if the host guards the mount.',
    { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_UNGUARDED' },
  );
}
