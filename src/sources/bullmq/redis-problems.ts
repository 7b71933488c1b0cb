/**
 * Errors of Redis, of its clients and of the network, in our own words. What a client or a server says is
 * never passed on: it may hold addresses, user names or commands.
 */

/** What went wrong, as a stable code for logs and a sentence for people. */
export interface RedisProblem {
  readonly code: string;
  readonly sentence: string;
}

/** Why a read failed. Its message is a sentence of ours, without secrets. */
export class QueueReadError extends Error {
  readonly problem: RedisProblem;

  constructor(problem: RedisProblem) {
    super(problem.sentence);
    this.name = 'QueueReadError';
    this.problem = problem;
  }
}

export const SILENT: RedisProblem = { code: 'SILENT', sentence: 'Redis does not answer.' };
export const LOST: RedisProblem = { code: 'LOST', sentence: 'The connection to Redis is lost.' };
export const CLOSED: RedisProblem = { code: 'CLOSED', sentence: 'The monitor has been closed.' };
export const TOO_MANY: RedisProblem = {
  code: 'TOOMANY',
  sentence: 'Too many commands wait for Redis.',
};
const NO_PACKAGE: RedisProblem = {
  code: 'NOPACKAGE',
  sentence: 'The package ioredis is not installed: run npm install ioredis, or give a client of your own.',
};
const UNKNOWN: RedisProblem = { code: 'UNKNOWN', sentence: 'Redis cannot be reached.' };

const UNTRUSTED = 'The TLS certificate of Redis is not trusted.';

const OF_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Redis refuses connections: nothing listens at that address.',
  ECONNRESET: 'Redis closed the connection.',
  EPIPE: 'Redis closed the connection.',
  ENOTFOUND: 'The host name of Redis is not known.',
  EAI_AGAIN: 'The host name of Redis is not known.',
  EHOSTUNREACH: 'The host of Redis cannot be reached.',
  ENETUNREACH: 'The host of Redis cannot be reached.',
  ENOENT: 'The socket file of Redis does not exist.',
  EACCES: 'The socket file of Redis may not be opened.',
  ETIMEDOUT: SILENT.sentence,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'The TLS certificate of Redis has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The TLS certificate of Redis is for another host.',
};

/** The first word of an error that Redis answers with. */
const OF_REPLY: Readonly<Record<string, string>> = {
  WRONGPASS: 'Redis refuses the user name or password.',
  NOAUTH: 'Redis asks for a password.',
  NOPERM: 'The Redis user may not do what this monitor needs.',
  LOADING: 'Redis is loading its data.',
  BUSY: 'Redis is busy running a script.',
  MASTERDOWN: 'Redis has lost its master.',
  CLUSTERDOWN: 'The Redis cluster is down.',
  CROSSSLOT: 'The keys of one queue lie on several nodes: its prefix or name needs a {hash tag}.',
  MOVED: 'This is a node of a Redis cluster: give a client of the cluster.',
  WRONGTYPE: 'A key in Redis holds something else than BullMQ puts there.',
};

/** Replies that say that no read at all is possible now. */
const OF_SERVER: ReadonlySet<string> = new Set([
  'NOAUTH',
  'WRONGPASS',
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'MOVED',
]);

/** Problems of a single command that have no word of their own in the reply. */
const OF_COMMAND: ReadonlySet<string> = new Set(['UNKNOWNCOMMAND', 'TOOMANY', 'NOKEY']);

const OF_MESSAGE: readonly (readonly [RegExp, RedisProblem])[] = [
  [
    /^ERR unknown (?:sub)?command/i,
    { code: 'UNKNOWNCOMMAND', sentence: 'This Redis does not know a command that is needed.' },
  ],
  [
    /^ERR (?:AUTH|Client sent AUTH)/i,
    { code: 'NOPASSWORD', sentence: 'This Redis has no password set, but one was given.' },
  ],
  [
    /max number of clients/i,
    { code: 'MAXCLIENTS', sentence: 'Redis has no connection left for another client.' },
  ],
  [/DB index/i, { code: 'NODATABASE', sentence: 'This Redis has no database of that number.' }],
  [/^ERR no such key/i, { code: 'NOKEY', sentence: 'A key in Redis is not there.' }],
  [/wrong version number|packet length/i, { code: 'NOTLS', sentence: 'This Redis does not speak TLS.' }],
  [/timed ?out/i, SILENT],
  [/clos(?:e|ed|ing)\b|Stream isn't writeable|offline|max retries/i, LOST],
];

/** The problem that an error stands for. Never throws, whatever was thrown. */
export function describeError(error: unknown): RedisProblem {
  try {
    return describe(error) ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/** Whether a problem is one of the server or of the way to it, and not of a single command. */
export function isOutage({ code }: RedisProblem): boolean {
  return OF_SERVER.has(code) || !(Object.hasOwn(OF_REPLY, code) || OF_COMMAND.has(code));
}

function describe(error: unknown): RedisProblem | null {
  if (error instanceof QueueReadError) return error.problem;
  if (typeof error !== 'object' || error === null) return null;
  const { code, message, errors, lastNodeError } = error as Record<string, unknown>;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return NO_PACKAGE;
  if (typeof code === 'string' && Object.hasOwn(OF_CODE, code)) {
    return { code, sentence: OF_CODE[code] ?? UNKNOWN.sentence };
  }
  // Node tries every address of a name, a cluster every node; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return describe(errors[0]);
  if (lastNodeError !== undefined && lastNodeError !== error) return describe(lastNodeError);
  if (typeof message !== 'string') return null;
  const reply = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? '';
  if (Object.hasOwn(OF_REPLY, reply)) return { code: reply, sentence: OF_REPLY[reply] ?? UNKNOWN.sentence };
  return OF_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}
