/** What problems of Redis, RabbitMQ and databases have in common: sentences about the network and TLS, and a log. */
import nodeModule from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debugChannel } from './debug.ts';
import { settleInTime, type WaitLimits } from './waiting.ts';

const debug = debugChannel('celery');

/** Shortest time between two log entries for the same kind of problem, in milliseconds. */
const LOG_INTERVAL = 30_000;

/** What went wrong with a server or the connection to it. */
export interface ServerProblem {
  /** Stable code for logs and rules, such as `ECONNREFUSED` or `NOPERM`. */
  readonly code: string;
  /** For people. Contains no address, user name or password. */
  readonly sentence: string;
}

/** Why a request to a server failed. The message is the problem's sentence. */
export class ServerError<P extends ServerProblem = ServerProblem> extends Error {
  readonly problem: P;

  constructor(problem: P) {
    super(problem.sentence);
    this.problem = problem;
  }
}

/** Patterns for codes or messages, each with the code of its problem. The first match counts. */
export type ProblemPatterns<Code extends string> = readonly (readonly [RegExp, Code])[];

/** OpenSSL has one code for each alert of the other side, and one for each way in which reading a file can fail. */
export const TLS_CODES: ProblemPatterns<'CLIENTCERT' | 'TLSFILES'> = [
  [
    /^ERR_SSL_.*(?:ALERT_(?:UNKNOWN_CA|BAD_CERT|CERTIFICATE|HANDSHAKE_FAILURE)|CERTIFICATE_REQUIRED)/,
    'CLIENTCERT',
  ],
  [/^ERR_OSSL_/, 'TLSFILES'],
];

/** The code of the first pattern that matches; `null` if none does. */
export function firstMatch<Code extends string>(patterns: ProblemPatterns<Code>, text: string): Code | null {
  return patterns.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** The problems of one kind of server. */
export type Problems = ReturnType<typeof createProblems<'TimeoutError' | 'CLOSED', ServerError>>;

/**
 * The problems of one kind of server.
 *
 * @param sentences by code, which each caller of `errorOf` names
 * @param Failure class of its errors
 * @param codeOf finds the code of an error of a client or of Node; `null`: unknown. It may throw
 */
export function createProblems<Code extends string, Kind extends ServerError>(
  sentences: Readonly<Record<Code | 'UNKNOWN' | 'TimeoutError', string>>,
  Failure: new (problem: ServerProblem) => Kind,
  codeOf: (error: unknown) => Code | null,
) {
  const problemOf = (code: Code | 'UNKNOWN' | 'TimeoutError'): ServerProblem => ({
    code,
    sentence: sentences[code],
  });
  function describe(error: unknown): ServerProblem {
    try {
      return error instanceof Failure ? error.problem : problemOf(codeOf(error) ?? 'UNKNOWN');
    } catch {
      return problemOf('UNKNOWN');
    }
  }
  return {
    /** An error of ours. */
    errorOf: (code: Code): Kind => new Failure(problemOf(code)),
    /** The error of a problem. */
    failure: (problem: ServerProblem): Kind => new Failure(problem),
    /** The problem behind an error. Never throws, whatever was thrown. */
    describe,
    /** The same as an error of ours. */
    toError: (error: unknown): Kind => (error instanceof Failure ? error : new Failure(describe(error))),
    /** Limits the wait for a reply, see {@link settleInTime}. The error of one that is late is a `TimeoutError`. */
    inTime: <T>(promise: Promise<T>, limits: WaitLimits): Promise<T> =>
      settleInTime(promise, limits, () => new Failure(problemOf('TimeoutError'))),
  };
}

/**
 * Sentences for Node's connection errors and for ours.
 *
 * @param server as written in the middle of a sentence, such as `the database`
 */
export function connectionSentences(server: string) {
  const Server = `${server.charAt(0).toUpperCase()}${server.slice(1)}`;
  const noConnection = `${Server} closed the connection.`;
  const unknownHost = `The host name of ${server} cannot be resolved.`;
  const unreachable = `The host of ${server} cannot be reached.`;
  return {
    ECONNREFUSED: `${Server} refuses connections: nothing listens at that address.`,
    ECONNRESET: noConnection,
    EPIPE: noConnection,
    LOST: noConnection,
    ENOTFOUND: unknownHost,
    EAI_AGAIN: unknownHost,
    EHOSTUNREACH: unreachable,
    ENETUNREACH: unreachable,
    TimeoutError: `${Server} does not answer.`,
    CLOSED: 'The monitor has been closed.',
  };
}

/** Sentences for the errors of Node and OpenSSL about certificates and keys. */
export function tlsSentences(server: string) {
  const certificate = `The TLS certificate of ${server}`;
  const untrusted = `${certificate} is not trusted.`;
  return {
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    UNABLE_TO_GET_ISSUER_CERT: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    CERT_UNTRUSTED: untrusted,
    CERT_SIGNATURE_FAILURE: untrusted,
    CERT_NOT_YET_VALID: `${certificate} is not valid yet.`,
    CERT_HAS_EXPIRED: `${certificate} has expired.`,
    ERR_TLS_CERT_ALTNAME_INVALID: `${certificate} is for another host.`,
    TLSFILES: 'The given TLS certificate or key cannot be used.',
  };
}

/**
 * The error to throw when the import of an optional package has failed. Each caller imports the package inside its own
 * `try`: only then do bundlers accept that an app has not installed it.
 *
 * @param Failure class of the error that is thrown if it is not installed; its code is `NOPACKAGE`
 */
export function failedImport(
  name: string,
  error: unknown,
  Failure: new (problem: ServerProblem) => Error,
): unknown {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isOfVite = String(message).startsWith(`Could not resolve "${name}"`);
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND' && !isOfVite) return error;
  const sentence = `The package ${name} is not installed: run npm install ${name}.`;
  return new Failure({ code: 'NOPACKAGE', sentence });
}

/**
 * Checks that an optional package can be imported later. Does nothing where this code has been bundled into an app: the
 * bundle may contain the package.
 *
 * @param caller the function that was called, such as `celerySources`
 * @throws Error that says what to install
 */
export function requirePackage(caller: string, name: string): void {
  if (isMissing(name)) {
    throw new Error(`${caller}: the package ${name} is not installed: run npm install ${name}.`);
  }
}

function isMissing(name: string): boolean {
  try {
    const here = typeof __filename === 'string' ? __filename : fileURLToPath(import.meta.url);
    const { resolve } = nodeModule.createRequire(here);
    const built = join(dirname(resolve('express-task-monitor/package.json')), 'dist') + sep;
    if (!here.startsWith(built)) return false;
    try {
      resolve(name);
      return false;
    } catch (error) {
      return (error as { readonly code?: unknown }).code === 'MODULE_NOT_FOUND';
    }
  } catch {
    return false;
  }
}

/**
 * Logs each kind of problem at most once in 30 s, so that an outage does not flood the log.
 *
 * @param label names the connection
 */
export function createProblemLog(label: string): (problem: ServerProblem) => void {
  const last = new Map<string, number>();
  return ({ code, sentence }) => {
    const now = performance.now();
    if (now - (last.get(code) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL) return;
    last.set(code, now);
    debug('%s: %s (%s)', label, sentence, code);
  };
}
