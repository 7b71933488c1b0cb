import { validateHeaderValue } from 'node:http';
import { MonitorError } from '../errors.ts';
import type { Authorize, Refusal, RouteName } from '../options.ts';
import type { Report } from '../read.ts';
import type { MonitorRequest } from './exchange.ts';

/** Why a request was refused. */
export interface Denial {
  readonly error: MonitorError;
  readonly challenge: string | null;
}

/** Returns `null` for an allowed request; synchronous when the host's hook is. Never rejects. */
export type Guard = (request: MonitorRequest, route: RouteName) => Denial | null | Promise<Denial | null>;

const UNDECIDED: Denial = {
  error: new MonitorError('forbidden', 'Your permission to see this could not be determined.'),
  challenge: null,
};
const DENIED: Denial = { error: new MonitorError('forbidden'), challenge: null };

// The host's hook gets the request object of its own server, such as Express.
type AuthorizeRequest = Parameters<Authorize>[0];

/** Creates a guard that calls the host's hook. Only `true` allows a request. */
export function createGuard(authorize: Authorize | null, timeoutMs: number, report: Report): Guard {
  if (authorize === null) return () => null;

  function undecided(error: unknown): Denial {
    report(error, { code: 'forbidden', source: null, call: 'authorize' });
    return UNDECIDED;
  }

  function decide(verdict: unknown): Denial | null {
    if (verdict === true) return null;
    if (verdict === false) return DENIED;
    try {
      return readRefusal(verdict);
    } catch (error) {
      return undecided(error);
    }
  }

  return function guard(request, route) {
    try {
      const verdict: unknown = authorize(request as AuthorizeRequest, route);
      if (typeof verdict === 'boolean') return decide(verdict);
      return within(timeoutMs, verdict).then(decide, undecided);
    } catch (error) {
      return undecided(error);
    }
  };
}

function readRefusal(verdict: unknown): Denial {
  const { status, challenge, detail } = (verdict ?? {}) as Partial<Refusal>;
  if (status !== 401 && status !== 403) {
    throw new TypeError(
      'authorize must return true, false, or { status: 401 | 403 }; anything else counts as a refusal.',
    );
  }
  const sentence = typeof detail === 'string' && detail !== '' ? detail : undefined;
  return {
    error: new MonitorError(status === 401 ? 'unauthorized' : 'forbidden', sentence),
    challenge: status === 401 && challenge !== undefined ? readChallenge(challenge) : null,
  };
}

function readChallenge(challenge: unknown): string {
  if (typeof challenge !== 'string') throw new TypeError("authorize's challenge must be a string.");
  validateHeaderValue('WWW-Authenticate', challenge);
  return challenge;
}

/** Resolves to the value; rejects when that takes too long. */
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
