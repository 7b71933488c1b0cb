import { validateHeaderValue } from 'node:http';
import { MonitorError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import type { Authorize, Refusal, RouteName, SignInRedirect } from '../options.ts';
import type { Report } from '../read.ts';
import { settleInTime } from '../waiting.ts';
import type { MonitorRequest } from './exchange.ts';

/** Why a request was refused. */
export interface Denial {
  readonly error: MonitorError;
  readonly challenge?: string;
  /** Where to sign in, for the page only. */
  readonly redirect?: string;
}

/** Returns `null` for an allowed request; synchronous if the host's hook is. Never rejects. */
export type Guard = (request: MonitorRequest, route: RouteName) => Denial | null | Promise<Denial | null>;

const UNDECIDED: Denial = {
  error: new MonitorError('forbidden', 'Your permission to see this could not be determined.'),
};
const DENIED: Denial = { error: new MonitorError('forbidden') };

/** Creates a guard that calls the host's hook. Only `true` allows a request. */
export function createGuard(
  authorize: Authorize,
  { timeoutMs, publicUrl }: Pick<ResolvedOptions, 'timeoutMs' | 'publicUrl'>,
  report: Report,
): Guard {
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
      // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
      const deciding = new Promise((adopt) => adopt(verdict));
      const tooLate = (): Error => new Error(`authorize did not decide within ${timeoutMs} ms.`);
      return settleInTime(deciding, { ms: timeoutMs }, tooLate).then(
        (late) => decide(late, request),
        undecided,
      );
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
    return { error: new MonitorError('unauthorized', sentence), redirect: address };
  }
  if (status !== 401 && status !== 403) {
    throw new TypeError(
      "authorize must return true, false, { status: 401 | 403 } or { redirect: '/login' }; anything else is a refusal.",
    );
  }
  return {
    error: new MonitorError(status === 401 ? 'unauthorized' : 'forbidden', sentence),
    ...(status === 401 && challenge !== undefined && { challenge: readChallenge(challenge) }),
  };
}

function readChallenge(challenge: unknown): string {
  if (typeof challenge !== 'string') throw new TypeError("authorize's challenge must be a string.");
  validateHeaderValue('WWW-Authenticate', challenge);
  return challenge;
}

const LONGEST_REDIRECT = 2_048;

const EXPECTED_REDIRECT =
  "authorize's redirect must be a path such as '/login', or an http(s) URL of the host's own origin, of at most " +
  `${LONGEST_REDIRECT} printable ASCII characters without a backslash.`;

/**
 * Returns the address unchanged: browsers resolve it against the address of the page, also behind a proxy.
 *
 * @param value `redirect` as returned by `authorize`
 * @param publicUrl the option of this name. If it has an origin, that is the host's; clients choose the header `Host`
 * @throws TypeError for anything but a path, or a URL of the host's own origin
 */
function readRedirect(value: unknown, request: MonitorRequest, publicUrl: string | null): string {
  // Browsers read `\` as `/`, and remove line breaks and tabs before they look for `//`.
  const isPlain =
    typeof value === 'string' && value.length <= LONGEST_REDIRECT && /^[\x21-\x5b\x5d-\x7e]+$/.test(value);
  if (!isPlain || value.startsWith('//')) throw new TypeError(EXPECTED_REDIRECT);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(value);
  if (hasScheme ? !isOwnOrigin(value, request, publicUrl) : !URL.canParse(value, 'http://localhost/')) {
    throw new TypeError(EXPECTED_REDIRECT);
  }
  return value;
}

function isOwnOrigin(value: string, request: MonitorRequest, publicUrl: string | null): boolean {
  if (!/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value)) return false;
  const target = new URL(value);
  if (target.username !== '' || target.password !== '') return false;
  const isPublic = publicUrl !== null && /^https?:/i.test(publicUrl);
  const { host: named = request.headers[':authority'] } = request.headers;
  const own = isPublic ? publicUrl : `${isSecure(request) ? 'https' : 'http'}://${named}`;
  if (!URL.canParse(own)) return false;
  const { protocol, host } = new URL(own);
  // A proxy may have terminated TLS: the same host over https is not another site.
  if (target.protocol === 'https:') return target.host === new URL(own.replace(/^http:/i, 'https:')).host;
  return protocol === target.protocol && host === target.host;
}

/** Whether the client used TLS. Behind a proxy that Express trusts, the proxy says so. */
function isSecure(request: MonitorRequest & { readonly secure?: boolean }): boolean {
  return request.secure === true || (request.socket as { encrypted?: boolean }).encrypted === true;
}
