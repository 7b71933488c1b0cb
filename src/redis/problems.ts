/**
 * Problems of Redis, its clients and the network, in our own sentences. Messages of clients and servers are never
 * passed on, because they may contain addresses, user names or commands.
 */
import {
  connectionSentences,
  createProblems,
  firstMatch,
  type ProblemPatterns,
  ServerError,
  type ServerProblem,
  TLS_CODES,
  tlsSentences,
} from '../server-problems.ts';

/** Why a command or a connection failed. The message is the problem's sentence, without secrets. */
export class RedisError extends ServerError<ServerProblem> {
  override readonly name = 'RedisError';
}

const CONNECTION = connectionSentences('Redis');

/** Every problem by its code: errors of Node and OpenSSL, the first word of Redis' error replies, and ours. */
const SENTENCES = {
  ...CONNECTION,
  ...tlsSentences('Redis'),
  ETIMEDOUT: CONNECTION.TimeoutError,
  ENOENT: 'The socket file of Redis does not exist.',
  EACCES: 'The socket file of Redis may not be opened.',
  CLIENTCERT: 'Redis requires a client certificate that it trusts, see ssl_certfile and ssl_keyfile.',
  NOTLS: 'This Redis does not speak TLS.',

  WRONGPASS: 'Redis refuses the user name or password.',
  NOAUTH: 'Redis requires a password.',
  NOPASSWORD: 'This Redis has no password set, but one was given.',
  NOPERM: 'The Redis user lacks a right that this monitor needs.',
  NODATABASE: 'This Redis has no database of that number.',
  MAXCLIENTS: 'Redis has reached its limit of clients.',
  PROTECTED: 'Redis is in protected mode and accepts local connections only.',
  LOADING: 'Redis is loading its data.',
  BUSY: 'Redis is busy running a script.',
  MASTERDOWN: 'Redis has lost its master.',
  CLUSTERDOWN: 'The Redis cluster is down.',
  CROSSSLOT: 'The keys of a queue are on several nodes: its prefix or name needs a {hash tag}.',
  MOVED: 'This is a node of a Redis cluster: pass a client of the cluster instead.',
  WRONGTYPE: 'A key in Redis holds a value of an unexpected type.',
  NOKEY: 'A key in Redis does not exist.',
  UNKNOWNCOMMAND: 'This Redis lacks a command that this monitor needs.',
  READONLY: 'This Redis is a replica and accepts no writes.',
  OOM: 'Redis has no memory left and accepts no writes.',
  MISCONF: 'Redis cannot save its data and accepts no writes.',
  NOREPLICAS: 'Redis has too few replicas and accepts no writes.',
  EXECABORT: 'Redis has refused a transaction.',

  NOSENTINEL: 'No Sentinel answers.',
  SENTINELLOGIN:
    'The Sentinels refuse the login: write their own user name and password into sentinel_kwargs.',
  NOMASTER: 'The Sentinels know no master with the name in master_name.',
  NOTMASTER: 'The Sentinels name a Redis that is not a master; a failover may be in progress.',

  OVERSIZE: 'Redis sends a reply that is larger than any that this monitor reads.',
  TOOMANY: 'Too many commands wait for Redis.',
  UNKNOWN: 'Redis cannot be reached.',
};

type ProblemCode = keyof typeof SENTENCES;

/** Errors of node-redis that are known by their class alone. */
const BY_CLASS: Readonly<Record<string, ProblemCode>> = {
  ConnectionTimeoutError: 'TimeoutError',
  SocketTimeoutError: 'TimeoutError',
  TimeoutError: 'TimeoutError',
  SocketClosedUnexpectedlyError: 'LOST',
  DisconnectsClientError: 'LOST',
  ClientClosedError: 'LOST',
  ClientOfflineError: 'LOST',
};

const BY_MESSAGE: ProblemPatterns<ProblemCode> = [
  [/^ERR (?:AUTH|Client sent AUTH)/i, 'NOPASSWORD'],
  [/invalid password/i, 'WRONGPASS'],
  [/DB index/i, 'NODATABASE'],
  [/max number of clients/i, 'MAXCLIENTS'],
  [/protected mode/i, 'PROTECTED'],
  [/^ERR (?:unknown (?:sub)?command|syntax error)/i, 'UNKNOWNCOMMAND'],
  [/^ERR no such key/i, 'NOKEY'],
  [/wrong version number|packet length/i, 'NOTLS'],
  // Errors of ioredis, which have no code.
  [/timed ?out/i, 'TimeoutError'],
  [/clos(?:e|ed|ing)\b|Stream isn't writeable|offline|max retries/i, 'LOST'],
];

/** Problems of a single command: Redis itself answers, and other commands may work. */
const OF_COMMAND: ReadonlySet<string> = new Set<ProblemCode>([
  'NOPERM',
  'CROSSSLOT',
  'WRONGTYPE',
  'NOKEY',
  'UNKNOWNCOMMAND',
  'READONLY',
  'OOM',
  'MISCONF',
  'NOREPLICAS',
  'EXECABORT',
  'TOOMANY',
]);

export const redisProblems = createProblems<ProblemCode, RedisError>(SENTENCES, RedisError, codeOf);

export const { errorOf: redisError, describe: describeError, inTime: withDeadline } = redisProblems;

/** Whether a problem concerns the server or the connection to it, and not a single command. */
export function isOutage({ code }: ServerProblem): boolean {
  return !OF_COMMAND.has(code);
}

function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(SENTENCES, text);
}

function codeOf(error: unknown): ProblemCode | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, name, message, errors, lastNodeError } = error as Record<string, unknown>;
  if (typeof code === 'string') {
    const known = isProblemCode(code) ? code : firstMatch(TLS_CODES, code);
    if (known !== null) return known;
  }
  // Node tries every address of a name and a cluster every node; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  if (lastNodeError !== undefined && lastNodeError !== error) return codeOf(lastNodeError);
  for (const type of [error.constructor.name, name]) {
    const known = typeof type === 'string' && Object.hasOwn(BY_CLASS, type) ? BY_CLASS[type] : undefined;
    if (known !== undefined) return known;
  }
  if (typeof message !== 'string') return null;
  const word = /^-?([A-Z]+)\b/.exec(message)?.[1] ?? '';
  return isProblemCode(word) ? word : firstMatch(BY_MESSAGE, message);
}

/**
 * The command that adds these rules to a user, as it is typed into redis-cli
 * (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).
 */
export function aclLine(rules: readonly string[]): string {
  const quoted = rules.map((rule) => (/[\s"']/.test(rule) ? `"${rule.replace(/["\\]/g, '\\$&')}"` : rule));
  return `ACL SETUSER <user> ${quoted.join(' ')}`;
}

/** A name as a Redis pattern that matches nothing else. */
export function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]]/g, '\\$&');
}

/** A subscription: PSUBSCRIBE for a pattern, SUBSCRIBE for a channel. */
export interface Subscription {
  readonly kind: 'pattern' | 'channel';
  /** As it is sent to Redis. */
  readonly name: string;
}

/** The command that allows a user to subscribe. A rule for a pattern must repeat the pattern literally. */
export function subscriptionAcl(subscriptions: readonly Subscription[], database: number): string {
  const commands = subscriptions.map(({ kind }) => (kind === 'pattern' ? '+psubscribe' : '+subscribe'));
  const select = database === 0 ? [] : ['+select'];
  const channels = subscriptions.map(({ kind, name }) => `&${kind === 'pattern' ? name : escapeGlob(name)}`);
  return aclLine(['+ping', ...select, ...new Set(commands), ...channels]);
}

/** Rules that allow every read. Redis before 7 does not know `%R~` and needs `~*`. */
export const READ_RULES = ['%R~*', '+@read', '-keys'];
