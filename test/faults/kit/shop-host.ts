/** A host with a small shop in its monitor, and paths that stand for all kinds of answers. */
import type { Express, RequestHandler } from 'express';
import type { Host, HostOptions } from '../../router/host-kit.ts';
import { createShop } from '../../router/shop-sources.ts';
import type { FaultBench } from './fault-case.ts';

export const PATHS: readonly string[] = [
  '/healthcheck?checks=broker',
  '/api/components/',
  '/api/tasks/?limit=3&stats=5',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
  '/api/tasks/?limit=0&nonsense=1',
  '/api/workers',
  '/metrics',
];

export const serveShop = (bench: FaultBench, options?: HostOptions): Promise<Host> =>
  bench.serve({ sources: createShop().sources }, options);

/** Middleware in front of the monitor. */
export const using =
  (...handlers: RequestHandler[]) =>
  (app: Express): void => {
    app.use(...handlers);
  };
