import { type NextFunction, type Request, type Response, Router } from 'express';
import { isRecord } from './check-options.ts';
import { isMonitorError, MonitorError } from './errors.ts';
import { resolveOptions } from './options/resolve-options.ts';
import type { MonitorOptions } from './options.ts';
import { CLIENT_GONE } from './read.ts';
import type { Denial } from './routes/authorize.ts';
import { createDashboard } from './routes/dashboard.ts';
import { ROUTES } from './routes/index.ts';
import { createMonitor } from './routes/monitor.ts';
import { ALLOWED, sendEmpty, sendProblem } from './routes/send.ts';
import { createTargets, type Target } from './routes/targets.ts';

/** An Express Router that can be closed. */
export interface MonitorRouter extends Router {
  /**
   * Ends what is under way and closes the sources. Later requests answer 503 `overloaded`. Resolves
   * within 1.5 s, also when called again; never rejects.
   */
  close(): Promise<void>;
}

const CLOSED = new MonitorError('overloaded', 'The monitor was closed.');

/**
 * Makes the router that answers the eleven routes and serves the page, relative to wherever it is mounted:
 * `app.use('/monitor', createMonitorRouter({ sources }))`.
 *
 * @throws TypeError that says what to write, for options that are unknown or wrong
 */
export function createMonitorRouter(options?: MonitorOptions): MonitorRouter {
  refuseRequest(options);
  const resolved = resolveOptions(options);
  if (resolved.unguarded) warnUnguarded();
  const monitor = createMonitor(resolved);
  const targets = createTargets(monitor, ROUTES);
  const dashboard = createDashboard(monitor);
  let closing: Promise<void> | null = null;

  function respond(
    target: Target,
    denial: Denial | null,
    request: Request,
    response: Response,
  ): void | Promise<void> {
    if (denial !== null) return sendProblem(request, response, denial.error, denial.challenge);
    if (closing !== null) return sendProblem(request, response, CLOSED);
    return target.respond(request, response);
  }

  function fail(
    error: unknown,
    target: Target,
    request: Request,
    response: Response,
    next: NextFunction,
  ): void {
    if (error === CLIENT_GONE) return;
    if (isMonitorError(error)) {
      sendProblem(request, response, error);
      return;
    }
    monitor.report(error, { code: null, source: null, call: target.route });
    if (!response.headersSent) next(error);
  }

  async function finish(
    pending: Promise<void>,
    target: Target,
    request: Request,
    response: Response,
    next: NextFunction,
  ) {
    try {
      await pending;
    } catch (error) {
      fail(error, target, request, response, next);
    }
  }

  // Routes that the host adds to it are asked after ours.
  const router = Router();

  function answer(request: Request, response: Response, next: NextFunction): void {
    const target = targets.find(request.url) ?? dashboard?.find(request) ?? null;
    if (target === null) {
      router(request, response, next);
      return;
    }
    try {
      if (refuseMethod(request, response) || redirect(target, response)) return;
      const denial = monitor.guard(request, target.route);
      const pending =
        denial instanceof Promise
          ? denial.then((late) => respond(target, late, request, response))
          : respond(target, denial, request, response);
      if (pending !== undefined) void finish(pending, target, request, response, next);
    } catch (error) {
      fail(error, target, request, response, next);
    }
  }

  // An Express Router is a function that inherits its methods, and so is this one. Ours is the function
  // itself and not a layer within, whose dispatch would cost as much as the answer does.
  return Object.assign(Object.setPrototypeOf(answer, router), {
    close() {
      closing ??= monitor.close();
      return closing;
    },
  });
}

/** Whether the method alone decides the answer. */
function refuseMethod(request: Request, response: Response): boolean {
  const { method } = request;
  if (method === 'GET' || method === 'HEAD') return false;
  if (method === 'OPTIONS') sendEmpty(response, 204, { Allow: ALLOWED });
  else sendProblem(request, response, new MonitorError('method_not_allowed'));
  return true;
}

/** Whether the other trailing-slash form was asked for. */
function redirect({ canonical }: Target, response: Response): boolean {
  if (canonical === null) return false;
  sendEmpty(response, 308, { Location: canonical });
  return true;
}

/** `app.use(createMonitorRouter)` makes Express call it with a request. */
function refuseRequest(options: unknown): void {
  if (isRecord(options) && 'method' in options && 'headers' in options && 'url' in options) {
    throw new TypeError(
      'createMonitorRouter was given to app.use without being called. Write app.use(createMonitorRouter({ … })).',
    );
  }
}

let warned = false;

function warnUnguarded(): void {
  if (warned || process.env.NODE_ENV !== 'production') return;
  warned = true;
  process.emitWarning(
    'Everybody who reaches this monitor sees all of it. Give createMonitorRouter an authorize function, or authorize: false when the host guards the mount.',
    { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_UNGUARDED' },
  );
}
