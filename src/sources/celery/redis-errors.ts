/**
 * Errors of Redis and of the network, in our own words. What a driver or a server says is never passed
 * on: it may hold addresses, user names or commands.
 */
import { isMissingPackage } from './redis-client.ts';

/** What went wrong, as a stable code for logs and a sentence for people. */
export interface RedisProblem {
  readonly code: string;
  readonly sentence: string;
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
};

const BY_NAME: Readonly<Record<string, string>> = {
  ConnectionTimeoutError: 'Redis does not answer.',
  SocketTimeoutError: 'Redis does not answer.',
  TimeoutError: 'Redis does not answer.',
  SocketClosedUnexpectedlyError: 'Redis closed the connection.',
};

const OF_MESSAGE: readonly (readonly [RegExp, string, string])[] = [
  [/^ERR (?:AUTH|Client sent AUTH)/i, 'NOPASSWORD', 'This Redis has no password set, but one was given.'],
  [/invalid password/i, 'WRONGPASS', 'Redis refuses the user name or password.'],
  [/DB index/i, 'NODATABASE', 'This Redis has no database of that number.'],
  [/max number of clients/i, 'MAXCLIENTS', 'Redis has no connection left for another client.'],
  [/protected mode/i, 'PROTECTED', 'Redis is in protected mode and takes local connections only.'],
  [/wrong version number|packet length/i, 'NOTLS', 'This Redis does not speak TLS.'],
];

const UNKNOWN: RedisProblem = { code: 'UNKNOWN', sentence: 'Redis cannot be reached.' };

/** The problem that an error stands for. Never throws, whatever was thrown. */
export function describeError(error: unknown): RedisProblem {
  try {
    return describe(error) ?? UNKNOWN;
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
  if (typeof code === 'string' && Object.hasOwn(BY_CODE, code)) return problem(code, BY_CODE);
  // Node tries every address of a name; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return describe(errors[0]);
  const type = error.constructor.name;
  if (Object.hasOwn(BY_NAME, type)) return problem(type, BY_NAME);
  if (typeof name === 'string' && Object.hasOwn(BY_NAME, name)) return problem(name, BY_NAME);
  if (typeof message !== 'string') return null;
  const reply = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? '';
  if (Object.hasOwn(BY_REPLY, reply)) return problem(reply, BY_REPLY);
  const known = OF_MESSAGE.find(([pattern]) => pattern.test(message));
  return known === undefined ? null : { code: known[1], sentence: known[2] };
}

function problem(code: string, sentences: Readonly<Record<string, string>>): RedisProblem {
  return { code, sentence: sentences[code] ?? UNKNOWN.sentence };
}

/** Thrown by this source when nothing came within the time limit. */
export function silence(): Error {
  return Object.assign(new Error('No answer within the time limit.'), { name: 'TimeoutError' });
}
