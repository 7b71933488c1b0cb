/**
 * Problems of RabbitMQ, its client and the network, in our own sentences. The messages of client and server are
 * never passed on, because they contain user names, virtual hosts and addresses.
 */

/** What went wrong: a stable code for logs and a sentence for people. */
export interface AmqpProblem {
  readonly code: string;
  readonly sentence: string;
}

/** Why a request or a connection failed. The message is the problem's sentence, without secrets. */
export class AmqpError extends Error {
  readonly problem: AmqpProblem;

  constructor(problem: AmqpProblem) {
    super(problem.sentence);
    this.name = 'AmqpError';
    this.problem = problem;
  }
}

const UNTRUSTED = 'The TLS certificate of RabbitMQ is not trusted.';
const NO_CONNECTION = 'RabbitMQ closed the connection.';
const NO_ANSWER = 'RabbitMQ does not answer.';

/** Every problem by its code: errors of Node and OpenSSL, and ours for the replies of RabbitMQ. */
const SENTENCES = {
  ECONNREFUSED: 'RabbitMQ refuses connections: nothing listens at that address.',
  ECONNRESET: NO_CONNECTION,
  EPIPE: NO_CONNECTION,
  ENOTFOUND: 'The host name of RabbitMQ is not known.',
  EAI_AGAIN: 'The host name of RabbitMQ is not known.',
  EHOSTUNREACH: 'The host of RabbitMQ cannot be reached.',
  ENETUNREACH: 'The host of RabbitMQ cannot be reached.',
  ETIMEDOUT: NO_ANSWER,

  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_NOT_YET_VALID: 'The TLS certificate of RabbitMQ is not valid yet.',
  CERT_HAS_EXPIRED: 'The TLS certificate of RabbitMQ has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The TLS certificate of RabbitMQ is for another host.',
  CLIENTCERT:
    'RabbitMQ asks for a TLS certificate that it trusts, see certfile and keyfile of broker_use_ssl.',
  TLSFILES: 'The TLS certificate or key that is given cannot be used.',
  NOTLS: 'This RabbitMQ does not speak TLS at that port.',

  WRONGPASS: 'RabbitMQ refuses the user name or password. The user guest may log in from localhost only.',
  NOMECHANISM: 'RabbitMQ does not offer this kind of login, see broker_login_method.',
  NOVHOST:
    'RabbitMQ refuses the virtual host: it does not exist, the user has no rights in it, or its limit is reached.',
  NOPERM: 'The RabbitMQ user may not do what this monitor needs.',
  MAXCLIENTS: 'RabbitMQ has no connection left for another client.',
  FORCED: 'RabbitMQ closed the connection: it is shutting down, or an operator ended it.',
  BLOCKED: 'RabbitMQ is short of memory or disk space and takes no messages.',
  NOTFOUND: 'RabbitMQ has no such queue or exchange.',
  LOCKED: 'The queue belongs to another connection.',
  PRECONDITION: 'A queue or exchange of that name exists with other properties.',
  CANCELLED: 'The queue of the monitor was deleted.',
  UNSUPPORTED: 'This version of RabbitMQ does not offer what the monitor needs.',
  REFUSED: 'RabbitMQ ended the connection because of an error.',
  PROTOCOL: 'What answers at that address does not speak AMQP 0-9-1.',

  HOSTCLOSED:
    'The connection that was passed is closed: pass a function that connects, or turn on the recovery of amqplib.',
  NOTCLIENT: 'The function that was passed as broker does not return a connection of amqplib.',
  TimeoutError: NO_ANSWER,
  LOST: NO_CONNECTION,
  CLOSED: 'The monitor has been closed.',
  UNKNOWN: 'RabbitMQ cannot be reached.',
} as const;

type ProblemCode = keyof typeof SENTENCES;

/** Reply codes of AMQP, which end a channel or a connection. */
const BY_REPLY: Readonly<Record<number, ProblemCode>> = {
  311: 'REFUSED',
  320: 'FORCED',
  402: 'NOVHOST',
  403: 'NOPERM',
  404: 'NOTFOUND',
  405: 'LOCKED',
  406: 'PRECONDITION',
  501: 'PROTOCOL',
  502: 'PROTOCOL',
  503: 'PROTOCOL',
  506: 'MAXCLIENTS',
  530: 'NOPERM',
  540: 'UNSUPPORTED',
  541: 'UNSUPPORTED',
};

/** The messages come from RabbitMQ where the reply code is too general, and from amqplib where there is no code. */
const BY_MESSAGE: readonly (readonly [RegExp, ProblemCode])[] = [
  [/Login was refused|authentication/i, 'WRONGPASS'],
  // amqplib does not pass on why RabbitMQ refuses to open a virtual host.
  [/vhost .*not found|access to vhost|got <ConnectionClose/i, 'NOVHOST'],
  [/(?:connection|node|vhost).*limit|channels? left/i, 'MAXCLIENTS'],
  [/SASL mechanism/i, 'NOMECHANISM'],
  [/heartbeat timeout|ETIMEDOUT|aborted/i, 'TimeoutError'],
  [/wrong version number|packet length/i, 'NOTLS'],
  [/Connection clos|channel (?:clos|ended)|unexpected close|closed abruptly|socket|recovery/i, 'LOST'],
  [/frame|Expected |handshake/i, 'PROTOCOL'],
];

/** OpenSSL has one code per alert of the other side, and one per way to misread a file. */
const BY_CODE_PATTERN: readonly (readonly [RegExp, ProblemCode])[] = [
  [
    /^ERR_SSL_.*(?:ALERT_(?:UNKNOWN_CA|BAD_CERT|CERTIFICATE|HANDSHAKE_FAILURE)|CERTIFICATE_REQUIRED)/,
    'CLIENTCERT',
  ],
  [/^ERR_SSL_|^EPROTO$/, 'NOTLS'],
  [/^ERR_OSSL_/, 'TLSFILES'],
  [/^ABORT_ERR$/, 'TimeoutError'],
];

/** An error of ours. */
export function amqpError(code: ProblemCode): AmqpError {
  return new AmqpError(problemFor(code));
}

/** The problem behind an error. Never throws, whatever was thrown. */
export function describeAmqpError(error: unknown): AmqpProblem {
  try {
    return describe(error) ?? problemFor('UNKNOWN');
  } catch {
    return problemFor('UNKNOWN');
  }
}

/** The same as an error of ours. */
export function toAmqpError(error: unknown): AmqpError {
  return error instanceof AmqpError ? error : new AmqpError(describeAmqpError(error));
}

/** The error for a host that has not installed the client. */
export function missingPackage(name: string): AmqpError {
  const sentence = `The package ${name} is not installed: run npm install ${name}.`;
  return new AmqpError({ code: 'NOPACKAGE', sentence });
}

function problemFor(code: ProblemCode): AmqpProblem {
  return { code, sentence: SENTENCES[code] };
}

function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(SENTENCES, text);
}

function describe(error: unknown): AmqpProblem | null {
  if (error instanceof AmqpError) return error.problem;
  if (typeof error !== 'object' || error === null) return null;
  const { code, message, errors } = error as Record<string, unknown>;
  const text = typeof message === 'string' ? message : '';
  const reply = typeof code === 'number' ? code : Number(/\b(\d{3}) \([A-Z-]+\)/.exec(text)?.[1]);
  if (Number.isInteger(reply)) return problemFor(byReply(reply, text));
  if (typeof code === 'string') {
    const known = codeOf(code, text);
    if (known !== null) return problemFor(known);
  }
  // Node tries every address of a name; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return describe(errors[0]);
  const known = BY_MESSAGE.find(([pattern]) => pattern.test(text));
  return known === undefined ? null : problemFor(known[1]);
}

/** Only the login, the virtual host and limits are told apart by the text of a reply. */
function byReply(reply: number, text: string): ProblemCode {
  const isGeneral = reply === 403 || reply === 530;
  const known = isGeneral ? BY_MESSAGE.slice(0, 3).find(([pattern]) => pattern.test(text)) : undefined;
  return known?.[1] ?? BY_REPLY[reply] ?? 'REFUSED';
}

function codeOf(code: string, text: string): ProblemCode | null {
  if (isProblemCode(code)) return code;
  const known = BY_CODE_PATTERN.find(([pattern]) => pattern.test(code))?.[1] ?? null;
  // OpenSSL reports an alert of the other side by the code EPROTO, too.
  return code === 'EPROTO' && /alert/i.test(text) ? 'CLIENTCERT' : known;
}
