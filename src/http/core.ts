/**
 * Answers requests for the routes and the page, on any server. Works on the path as the client sent it, so
 * that a router's decoding does not change the order of the checks: 405, 308, `authorize`, then path and query.
 */
import { isMonitorError, MonitorError } from '../errors.ts';
import { CLIENT_GONE } from '../read.ts';
import type { Denial } from './authorize.ts';
import {
  ALLOWED,
  isGone,
  type MonitorRequest,
  type MonitorResponse,
  sendEmpty,
  sendProblem,
} from './exchange.ts';
import type { Monitor } from './monitor.ts';

import type { Target } from './targets.ts';

/** Passes a request back to the host: with an error for a bug of this library, without one for another path. */
export type Next = (error?: unknown) => void;

/** The request handler of one monitor. */
export interface MonitorCore {
  /**
   * Answers a request for a path of the monitor; passes all others to `next`. Never throws.
   *
   * @param url path and query relative to the monitor's path, undecoded. Default: `request.url`
   */
  answer(request: MonitorRequest, response: MonitorResponse, next: Next, url?: string): void;
  /** Ends all open requests; later ones are answered with `overloaded`. Resolves within 1.5 s, never rejects. */
  close(): Promise<void>;
}

const CLOSED: Denial = {
  error: new MonitorError('overloaded', 'The monitor was closed.'),
  challenge: null,
  redirect: null,
};

/** @param find finds what answers a request; `null`: it is passed to the host */
export function createCore(
  monitor: Monitor,
  find: (request: MonitorRequest, url: string) => Target | null,
): MonitorCore {
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
    if (denial !== null) {
      countProblem(monitor, target, denial.error);
      if (target.refuse !== undefined) return target.refuse(request, response, denial);
      return sendProblem(request, response, denial.error, denial.challenge);
    }
    return target.respond(request, response);
  }

  function begin(target: Target, request: MonitorRequest, response: MonitorResponse): void | Promise<void> {
    if (answerOptions(request, response) || redirect(target, response)) return undefined;
    const denial = monitor.guard(request, target.route);
    return denial instanceof Promise
      ? denial.then((late) => respond(target, late, request, response))
      : respond(target, denial, request, response);
  }

  return {
    answer(request, response, next, url = request.url ?? '/') {
      let target: Target | null = null;
      const send = (error: unknown): void => {
        countProblem(monitor, target, error);
        const unexpected = sendFailure(request, response, error);
        if (!unexpected) return;
        monitor.report(error, { code: null, source: null, call: target?.route ?? 'dashboard' });
        if (!response.headersSent) next(error);
      };
      const fail = (error: unknown): void => {
        if (closing !== null || !isOverload(error)) send(error);
        else delay(() => send(error), next);
      };
      try {
        target = find(request, url);
        if (target === null) return next();
        monitor.figures?.watch(target.route, response);
        begin(target, request, response)?.catch(fail);
      } catch (error) {
        fail(error);
      }
    },
    close() {
      closing ??= monitor.close();
      return closing;
    },
  };
}

function countProblem({ figures }: Monitor, target: Target | null, error: unknown): void {
  if (isMonitorError(error)) figures?.problems.add(target?.route ?? 'dashboard', error.code);
}

function isOverload(error: unknown): boolean {
  return isMonitorError(error) && error.code === 'overloaded';
}

/** Answers a known error. @returns true for an unknown error: a bug of this library */
function sendFailure(request: MonitorRequest, response: MonitorResponse, error: unknown): boolean {
  if (error === CLIENT_GONE) return false;
  if (!isMonitorError(error)) return true;
  sendProblem(request, response, error);
  return false;
}

/** Answers OPTIONS. @returns whether it has answered. @throws MonitorError for a method that is not allowed */
function answerOptions({ method }: MonitorRequest, response: MonitorResponse): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  if (method !== 'OPTIONS') throw new MonitorError('method_not_allowed');
  sendEmpty(response, 204, { Allow: ALLOWED });
  return true;
}

/** Redirects a path with the wrong trailing slash. @returns whether it has answered */
function redirect({ canonical }: Target, response: MonitorResponse): boolean {
  if (canonical === null) return false;
  sendEmpty(response, 308, { Location: canonical });
  return true;
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
