import { type NextFunction, type Request, type Response, Router } from 'express';
import { endPlainly, type MonitorHandler, openHandler, refuseRequest } from './handler.ts';
import { resolveOptions } from './options/resolve-options.ts';
import type { Authorize as AuthorizeRequest, MonitorOptions as OptionsFor } from './options.ts';
import { ROUTES } from './routes/index.ts';

/** The option `authorize` for requests of Express. Only `true` lets a request through. */
export type Authorize = AuthorizeRequest<Request>;

/** Options of `createMonitorRouter`. An option that is unknown or of the wrong type throws at creation. */
export type MonitorOptions = OptionsFor<Request>;

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
  refuseRequest(options, 'createMonitorRouter', 'app.use(createMonitorRouter({ … }))');
  const resolved = resolveOptions(options);
  const handler = openHandler(resolved);
  const router = Router({ caseSensitive: true });
  addLayers(router, handler, resolved.dashboard !== null);
  allowPlainServer(router);
  return Object.assign(router, { close: () => handler.close() });
}

const PAGE_PATHS = ['/', '/assets/:file'];

/**
 * Adds a layer for each path, so that tracing and route listers see it and `request.route` is set. Layers only
 * call the handler. They do not use Express' parameters, because Express rejects paths that it cannot decode before
 * `authorize` is called.
 */
function addLayers(router: Router, answer: MonitorHandler, hasPage: boolean): void {
  const paths = ROUTES.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
  for (const path of hasPage ? [...paths, ...PAGE_PATHS] : paths) {
    // The handler also rejects other methods. Route listers show only `get`.
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
