/**
 * Errors of Redis and of the network, in our own words. What a driver or a server says is never passed
 * on: it may hold addresses, user names or commands.
 */
import { isMissingPackage } from './redis-client.ts';

/** What went wrong, as a stable code for logs and a sentence for people. */
export interface RedisProblem {
  readonly code: string;
  readonly sentence: string;
  /** What was refused, where the code is `NOPERM`. */
  readonly refused?: Refusal;
}

/** What the Redis user may not do. */
export interface Refusal {
  /** Run the command at all, or touch that key or channel. */
  readonly kind: 'command' | 'key' | 'channel';
  /** As an ACL has it, such as `lrange` or `memory|usage`; `null` where Redis does not tell. */
  readonly command: string | null;
}

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Redis refuses connections: nothing listens at that address.',
  ECONNRESET: 'Redis closed the connection.',
  EPIPE: 'Redis closed the connection.',
  ENOTFOUND: 'The host name of Redis is not known.',
  EAI_AGAIN: 'The host name of Redis is not known.',
  EHOSTUNREACH: 'The host of Redis cannot be reached.',
  ENETUNREACH: 'The host of Redis cannot be reached.',
  ENOENT: 'The socket file of Redis does not exist.',
  EACCES: 'The socket file of Redis may not be opened.',
  ETIMEDOUT: 'Redis does not answer.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The TLS certificate of Redis is not trusted.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The TLS certificate of Redis is not trusted.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The TLS certificate of Redis is not trusted.',
  UNABLE_TO_GET_ISSUER_CERT: 'The TLS certificate of Redis is not trusted.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The TLS certificate of Redis is not trusted.',
  CERT_UNTRUSTED: 'The TLS certificate of Redis is not trusted.',
  CERT_SIGNATURE_FAILURE: 'The TLS certificate of Redis is not trusted.',
  CERT_NOT_YET_VALID: 'The TLS certificate of Redis is not valid yet.',
  CERT_HAS_EXPIRED: 'The TLS certificate of Redis has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The TLS certificate of Redis is for another host.',
};

/** The first word of an error that Redis answers with. */
const BY_REPLY: Readonly<Record<string, string>> = {
  WRONGPASS: 'Redis refuses the user name or password.',
  NOAUTH: 'Redis asks for a password.',
  NOPERM: 'The Redis user may not do what this monitor needs.',
  LOADING: 'Redis is loading its data.',
  BUSY: 'Redis is busy running a script.',
  MASTERDOWN: 'Redis has lost its master.',
  CLUSTERDOWN: 'The Redis cluster is down.',
  MOVED: 'This is a node of a Redis cluster.',
  WRONGTYPE: 'A key in Redis holds something else than Celery puts there.',
  READONLY: 'This Redis is a replica and takes no writes.',
  OOM: 'Redis has no memory left and takes no writes.',
  MISCONF: 'Redis cannot save its data and takes no writes.',
  NOREPLICAS: 'Redis has too few replicas and takes no writes.',
  EXECABORT: 'Redis has refused a transaction.',
};

const BY_NAME: Readonly<Record<string, string>> = {
  ConnectionTimeoutError: 'Redis does not answer.',
  SocketTimeoutError: 'Redis does not answer.',
  TimeoutError: 'Redis does not answer.',
  SocketClosedUnexpectedlyError: 'Redis closed the connection.',
  DisconnectsClientError: 'Redis closed the connection.',
  ClientClosedError: 'Redis closed the connection.',
  ClientOfflineError: 'Redis closed the connection.',
};

const OF_MESSAGE: readonly (readonly [RegExp, string, string])[] = [
  [/^ERR (?:AUTH|Client sent AUTH)/i, 'NOPASSWORD', 'This Redis has no password set, but one was given.'],
  [/invalid password/i, 'WRONGPASS', 'Redis refuses the user name or password.'],
  [/DB index/i, 'NODATABASE', 'This Redis has no database of that number.'],
  [/max number of clients/i, 'MAXCLIENTS', 'Redis has no connection left for another client.'],
  [/protected mode/i, 'PROTECTED', 'Redis is in protected mode and takes local connections only.'],
  [/^ERR unknown (?:sub)?command/i, 'UNKNOWNCOMMAND', 'This Redis does not know a command that is needed.'],
  [/wrong version number|packet length/i, 'NOTLS', 'This Redis does not speak TLS.'],
];

/** OpenSSL has a code for each thing that the other side may say, and for each way to misread a file. */
const OF_CODE: readonly (readonly [RegExp, string, string])[] = [
  [
    /^ERR_SSL_.*(?:ALERT_(?:UNKNOWN_CA|BAD_CERT|CERTIFICATE|HANDSHAKE_FAILURE)|CERTIFICATE_REQUIRED)/,
    'CLIENTCERT',
    'Redis asks for a TLS certificate that it trusts, see ssl_certfile and ssl_keyfile.',
  ],
  [/^ERR_OSSL_/, 'TLSFILES', 'The TLS certificate or key that is given cannot be used.'],
];

/** How Redis 6 and 7 end when it is not the command itself that they refuse. */
const REFUSED: readonly (readonly [RegExp, Refusal['kind']])[] = [
  [/\bchannels?(?: used as arguments)?$/i, 'channel'],
  [/\bkeys?(?: used as arguments)?$/i, 'key'],
];

const UNKNOWN: RedisProblem = { code: 'UNKNOWN', sentence: 'Redis cannot be reached.' };

/** Errors of this source's own. */
const OWN = new WeakMap<Error, RedisProblem>();

/** An error that {@link describeError} answers with this problem. */
export function errorOf(problem: RedisProblem): Error {
  const error = new Error(problem.sentence);
  OWN.set(error, problem);
  return error;
}

/** The problem that an error stands for. Never throws, whatever was thrown. */
export function describeError(error: unknown): RedisProblem {
  try {
    return OWN.get(error as Error) ?? describe(error) ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

function describe(error: unknown): RedisProblem | null {
  if (typeof error !== 'object' || error === null) return null;
  if (isMissingPackage(error)) {
    return { code: 'NOPACKAGE', sentence: 'The package redis is not installed: run npm install redis.' };
  }
  const { code, name, message, errors } = error as Record<string, unknown>;
  if (typeof code === 'string') {
    if (Object.hasOwn(BY_CODE, code)) return problem(code, BY_CODE);
    const known = OF_CODE.find(([pattern]) => pattern.test(code));
    if (known !== undefined) return { code: known[1], sentence: known[2] };
  }
  // Node tries every address of a name; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return describe(errors[0]);
  const type = error.constructor.name;
  if (Object.hasOwn(BY_NAME, type)) return problem(type, BY_NAME);
  if (typeof name === 'string' && Object.hasOwn(BY_NAME, name)) return problem(name, BY_NAME);
  if (typeof message !== 'string') return null;
  const reply = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? '';
  if (reply === 'NOPERM') return { ...problem(reply, BY_REPLY), refused: refusal(message) };
  if (Object.hasOwn(BY_REPLY, reply)) return problem(reply, BY_REPLY);
  const known = OF_MESSAGE.find(([pattern]) => pattern.test(message));
  return known === undefined ? null : { code: known[1], sentence: known[2] };
}

function refusal(message: string): Refusal {
  const command = /\brun the '([\w-]{1,40}(?:\|[\w-]{1,40})?)' command/i.exec(message)?.[1] ?? null;
  if (command !== null) return { kind: 'command', command: command.toLowerCase() };
  return { kind: REFUSED.find(([pattern]) => pattern.test(message))?.[1] ?? 'command', command: null };
}

function problem(code: string, sentences: Readonly<Record<string, string>>): RedisProblem {
  return { code, sentence: sentences[code] ?? UNKNOWN.sentence };
}

/** Thrown by this source when nothing came within the time limit. */
export function silence(): Error {
  return Object.assign(new Error('No answer within the time limit.'), { name: 'TimeoutError' });
}
