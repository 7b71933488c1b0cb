import { validateHeaderValue } from 'node:http';
import { MonitorError } from '../errors.ts';
import type { Authorize, Refusal, RouteName, SignInRedirect } from '../options.ts';
import type { Report } from '../read.ts';
import type { MonitorRequest } from './exchange.ts';
import { readRedirect } from './sign-in-redirect.ts';

/** Why a request was refused. */
export interface Denial {
  readonly error: MonitorError;
  readonly challenge: string | null;
  /** Where to sign in, for the page only. */
  readonly redirect: string | null;
}

/** Returns `null` for an allowed request; synchronous if the host's hook is. Never rejects. */
export type Guard = (request: MonitorRequest, route: RouteName) => Denial | null | Promise<Denial | null>;

const UNDECIDED: Denial = {
  error: new MonitorError('forbidden', 'Your permission to see this could not be determined.'),
  challenge: null,
  redirect: null,
};
const DENIED: Denial = { error: new MonitorError('forbidden'), challenge: null, redirect: null };

/** The resolved options that a guard needs. */
interface GuardOptions {
  readonly authorize: Authorize | null;
  readonly timeoutMs: number;
  readonly publicUrl: string | null;
}

/** Creates a guard that calls the host's hook. Only `true` allows a request. */
export function createGuard({ authorize, timeoutMs, publicUrl }: GuardOptions, report: Report): Guard {
  if (authorize === null) return () => null;

  function undecided(error: unknown): Denial {
    report(error, { code: 'forbidden', source: null, call: 'authorize' });
    return UNDECIDED;
  }

  function decide(verdict: unknown, request: MonitorRequest): Denial | null {
    if (verdict === true) return null;
    if (verdict === false) return DENIED;
    try {
      return readRefusal(verdict, request, publicUrl);
    } catch (error) {
      return undecided(error);
    }
  }

  return function guard(request, route) {
    try {
      const verdict: unknown = authorize(request, route);
      if (typeof verdict === 'boolean') return decide(verdict, request);
      return within(timeoutMs, verdict).then((late) => decide(late, request), undecided);
    } catch (error) {
      return undecided(error);
    }
  };
}

function readRefusal(verdict: unknown, request: MonitorRequest, publicUrl: string | null): Denial {
  const { status, challenge, detail, redirect } = (verdict ?? {}) as Partial<Refusal & SignInRedirect>;
  const sentence = typeof detail === 'string' && detail !== '' ? detail : undefined;
  if (redirect !== undefined) {
    const address = readRedirect(redirect, request, publicUrl);
    return { error: new MonitorError('unauthorized', sentence), challenge: null, redirect: address };
  }
  if (status !== 401 && status !== 403) {
    throw new TypeError(
      "authorize must return true, false, { status: 401 | 403 } or { redirect: '/login' }; anything else is a refusal.",
    );
  }
  return {
    error: new MonitorError(status === 401 ? 'unauthorized' : 'forbidden', sentence),
    challenge: status === 401 && challenge !== undefined ? readChallenge(challenge) : null,
    redirect: null,
  };
}

function readChallenge(challenge: unknown): string {
  if (typeof challenge !== 'string') throw new TypeError("authorize's challenge must be a string.");
  validateHeaderValue('WWW-Authenticate', challenge);
  return challenge;
}

/** Resolves to the value; rejects when the time is up. */
function within(timeoutMs: number, value: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`authorize did not decide within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    timer.unref();
    // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
    new Promise((adopt) => adopt(value)).then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
