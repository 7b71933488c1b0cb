/**
 * Answers requests for the routes and the page, on any server. Works on the path as the client sent it, so that a
 * router's decoding does not change the order of the checks: 405, 308, `authorize`, then path and query.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MONITOR, wrongOption } from './check-options.ts';
import { isMonitorError, MonitorError } from './errors.ts';
import type { Denial } from './http/authorize.ts';
import { createDashboard } from './http/dashboard.ts';
import {
  ALLOWED,
  isGone,
  type MonitorRequest,
  type MonitorResponse,
  sendEmpty,
  sendProblem,
} from './http/exchange.ts';
import { createMonitor, type Monitor } from './http/monitor.ts';
import { createTargets, type Target, targetOf } from './http/route.ts';
import { type ResolvedOptions, resolveOptions } from './options/resolve-options.ts';
import type { MonitorHandlerOptions } from './options.ts';
import { CLIENT_GONE, freshnessOf } from './read.ts';
import { ROUTES } from './routes/index.ts';
import { abilitiesOf } from './routes/task-parameters.ts';
import { tellFindings } from './routes/tell-findings.ts';
import { isRecord } from './values.ts';

/** Answers requests of any Node server, and can be closed. */
export interface MonitorHandler {
  /**
   * Answers a request for the monitor. Never throws.
   *
   * @param next called for every other path, and with the error if answering failed because of a bug of this
   *   library. Default: answers 404, or 500
   */
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void;
  /**
   * Ends open requests and closes the sources that no other monitor uses. Later requests are answered with 503
   * `overloaded`. Resolves within 1.5 s, also when called again; never rejects.
   */
  close(): Promise<void>;
}

/**
 * Creates a handler for the eleven routes and the page: `http.createServer(createMonitorHandler({ sources }))`. It works
 * with every server that passes on the request and the response of Node's `http`; Express is not needed.
 *
 * @typeParam Request the type of the request that `authorize` gets: that of Node, with what the host adds to it
 * @throws TypeError that says what to write, for options that are unknown or wrong
 */
export function createMonitorHandler<Request extends IncomingMessage = IncomingMessage>(
  options?: MonitorHandlerOptions<Request>,
): MonitorHandler {
  refuseRequest(options, 'createMonitorHandler', 'createServer(createMonitorHandler({ … }))');
  const { options: resolved, basePath } = resolveHandlerOptions(options);
  return openHandler(resolved, basePath);
}

/** The handler of a monitor whose options have been checked. Begins its background work. */
export function openHandler(options: ResolvedOptions, basePath = ''): MonitorHandler {
  if (options.unguarded) warnUnguarded();
  const monitor = createMonitor(options);
  const findTarget = createTargets(monitor, ROUTES);
  const findPage = createDashboard(monitor, abilitiesOf(monitor.sources.tasks).body);
  tellFindings(monitor);
  watchStart(monitor);
  return answerWith(monitor, (request) => {
    const url = targetOf(request, basePath);
    return url === null ? null : (findTarget(url) ?? findPage?.(request, url) ?? null);
  });
}

/** Answers a request that the monitor does not handle, on a server without another handler. */
export function endPlainly(response: ServerResponse): Next {
  return (error) => {
    if (response.headersSent) return;
    response.statusCode = error === undefined ? 404 : 500;
    response.end();
  };
}

/** Detects `app.use(createMonitorRouter)`: Express then calls the function with a request. */
export function refuseRequest(options: unknown, caller: string, call: string): void {
  if (isRecord(options) && 'method' in options && 'headers' in options && 'url' in options) {
    throw new TypeError(`${caller} was passed to the server without being called. Write ${call}.`);
  }
}

let warned = false;

function warnUnguarded(): void {
  if (warned || process.env.NODE_ENV !== 'production') return;
  warned = true;
  process.emitWarning(
    'Everybody who can reach this monitor can see all its data. Pass an authorize function in its options, or authorize: false if the host guards it.',
    { type: 'ExpressTaskMonitorWarning', code: 'EXPRESS_TASK_MONITOR_UNGUARDED' },
  );
}

/**
 * Checks options and fills in their defaults. `basePath` has no trailing slash, and is empty if nothing is to be removed
 * from URLs.
 *
 * @throws TypeError that names the option, the type of its value, and what to write; never a secret
 */
function resolveHandlerOptions(given: unknown = {}) {
  if (!isRecord(given)) return { options: resolveOptions(given), basePath: '' };
  const { basePath: path, ...others }: { readonly [Key in keyof MonitorHandlerOptions]?: unknown } = given;
  const basePath = readBasePath(path);
  const options = resolveOptions(others);
  return { options: { ...options, publicUrl: options.publicUrl ?? (basePath || null) }, basePath };
}

function readBasePath(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string' || !/^\/(?!\/)[^?#\s]*$/.test(value)) {
    throw wrongOption(MONITOR, 'basePath', "a path such as '/monitor'", value);
  }
  return value.replace(/\/+$/, '');
}

const LOOK_EVERY_MS = 1_000;
/** By then, connecting has failed: it has a deadline. */
const MOST_LOOKS = 15;

/** Looks at the sources of tasks until all are connected. What they say of an outage is reported as at a request. */
function watchStart({ sources, report, beforeClose }: Monitor): void {
  const { tasks } = sources;
  if (tasks === undefined) return;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const areUp = freshnessOf(tasks, Date.now(), report).sources.every(({ ok }) => ok);
    if (areUp || looks === MOST_LOOKS) clearInterval(timer);
  }, LOOK_EVERY_MS).unref();
  beforeClose(async () => clearInterval(timer));
}

/** Passes a request back to the host: with an error for a bug of this library, without one for another path. */
type Next = (error?: unknown) => void;

const CLOSED: Denial = { error: new MonitorError('overloaded', 'The monitor was closed.') };

/** @param find finds what answers a request; `null`: it is passed to the host */
function answerWith(monitor: Monitor, find: (request: MonitorRequest) => Target | null): MonitorHandler {
  let closing: Promise<void> | null = null;
  const delay = createDelay();

  function respond(
    target: Target,
    denied: Denial | null,
    request: MonitorRequest,
    response: MonitorResponse,
  ): void | Promise<void> {
    // It may have left while `authorize` decided.
    if (isGone(response)) return undefined;
    const denial = denied ?? (closing === null ? null : CLOSED);
    if (denial === null) return target.respond(request, response);
    countProblem(monitor, target, denial.error);
    if (target.refuse !== undefined) return target.refuse(request, response, denial);
    return sendProblem(request, response, denial.error, denial.challenge);
  }

  function begin(target: Target, request: MonitorRequest, response: MonitorResponse): void | Promise<void> {
    const { method } = request;
    if (method === 'OPTIONS') return sendEmpty(response, 204, { Allow: ALLOWED });
    if (method !== 'GET' && method !== 'HEAD') throw new MonitorError('method_not_allowed');
    if (target.canonical !== null) return sendEmpty(response, 308, { Location: target.canonical });
    const denial = monitor.guard(request, target.route);
    return denial instanceof Promise
      ? denial.then((late) => respond(target, late, request, response))
      : respond(target, denial, request, response);
  }

  function handle(
    request: MonitorRequest,
    response: MonitorResponse,
    next: Next = endPlainly(response),
  ): void {
    let target: Target | null = null;
    const send = (error: unknown): void => {
      if (error === CLIENT_GONE) return;
      if (isMonitorError(error)) {
        countProblem(monitor, target, error);
        sendProblem(request, response, error);
        return;
      }
      monitor.report(error, { code: null, source: null, call: target?.route ?? 'dashboard' });
      if (!response.headersSent) next(error);
    };
    const fail = (error: unknown): void => {
      const isOverload = isMonitorError(error) && error.code === 'overloaded';
      if (closing === null && isOverload) delay(() => send(error), next);
      else send(error);
    };
    try {
      target = find(request);
      if (target === null) {
        next();
        return;
      }
      monitor.figures?.watch(target.route, response);
      begin(target, request, response)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  return Object.assign(handle, {
    close(): Promise<void> {
      closing ??= monitor.close();
      return closing;
    },
  });
}

function countProblem({ figures }: Monitor, target: Target | null, { code }: MonitorError): void {
  figures?.problems.add(target?.route ?? 'dashboard', code);
}

/** Time between an overload and its answer, in milliseconds. */
const REFUSAL_DELAY_MS = 100;
/** Maximum number of waiting refusals; further ones are sent immediately, to limit the memory. */
const MOST_WAITING = 1_000;

/**
 * Delays the refusals of one router: otherwise a client that ignores `Retry-After` and immediately repeats its request
 * would keep the host busy with refusals alone.
 *
 * @returns sends a refusal later; `onError` is called with what `send` throws
 */
function createDelay(): (send: () => void, onError: (error: unknown) => void) => void {
  let waiting = 0;
  return (send, onError) => {
    if (waiting >= MOST_WAITING) return send();
    waiting += 1;
    setTimeout(() => {
      waiting -= 1;
      try {
        send();
      } catch (error) {
        onError(error);
      }
    }, REFUSAL_DELAY_MS);
  };
}
