/**
 * Problems of RabbitMQ, its client and the network, in our own sentences. The messages of client and server are
 * never passed on, because they contain user names, virtual hosts and addresses.
 */
import {
  connectionSentences,
  createProblems,
  firstMatch,
  type ProblemPatterns,
  ServerError,
  TLS_CODES,
  tlsSentences,
} from '../server-problems.ts';

/** Why a request or a connection failed. The message is the problem's sentence, without secrets. */
export class AmqpError extends ServerError {
  override readonly name = 'AmqpError';
}

const CONNECTION = connectionSentences('RabbitMQ');

/** Every problem by its code: errors of Node and OpenSSL, and ours for the replies of RabbitMQ. */
const SENTENCES = {
  ...CONNECTION,
  ...tlsSentences('RabbitMQ'),
  ETIMEDOUT: CONNECTION.TimeoutError,
  CLIENTCERT:
    'RabbitMQ requires a client certificate that it trusts, see certfile and keyfile of broker_use_ssl.',
  NOTLS: 'This RabbitMQ does not speak TLS at that port.',

  WRONGPASS: 'RabbitMQ refuses the user name or password. The user guest may log in from localhost only.',
  NOMECHANISM: 'RabbitMQ does not support this login method, see broker_login_method.',
  NOVHOST:
    'RabbitMQ refuses the virtual host: it does not exist, the user has no rights in it, or its limit is reached.',
  NOPERM: 'The RabbitMQ user lacks a right that this monitor needs.',
  MAXCLIENTS: 'RabbitMQ has reached its limit of connections.',
  FORCED: 'RabbitMQ closed the connection: it is shutting down, or an operator ended it.',
  BLOCKED: 'RabbitMQ is short of memory or disk space and accepts no messages.',
  NOTFOUND: 'RabbitMQ has no such queue or exchange.',
  LOCKED: 'The queue belongs to another connection.',
  PRECONDITION: 'A queue or exchange of that name exists with other properties.',
  CANCELLED: 'The queue of the monitor was deleted.',
  UNSUPPORTED: 'This version of RabbitMQ lacks a feature that the monitor needs.',
  REFUSED: 'RabbitMQ ended the connection because of an error.',
  OVERSIZE: 'RabbitMQ announces a message that is larger than any it accepts.',
  PROTOCOL: 'The server at that address does not speak AMQP 0-9-1.',

  HOSTCLOSED:
    'The connection that was passed is closed: pass a function that connects, or turn on the recovery of amqplib.',
  NOTCLIENT: 'The function that was passed as broker does not return a connection of amqplib.',
  UNKNOWN: 'RabbitMQ cannot be reached.',
};

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
const BY_MESSAGE: ProblemPatterns<ProblemCode> = [
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

const BY_CODE: ProblemPatterns<ProblemCode> = [
  ...TLS_CODES,
  [/^ERR_SSL_|^EPROTO$/, 'NOTLS'],
  [/^ABORT_ERR$/, 'TimeoutError'],
];

export const amqpProblems = createProblems<ProblemCode, AmqpError>(SENTENCES, AmqpError, codeOf);

export const { errorOf: amqpError, describe: describeAmqpError, toError: toAmqpError } = amqpProblems;

function codeOf(error: unknown): ProblemCode | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, message, errors } = error as Record<string, unknown>;
  const text = typeof message === 'string' ? message : '';
  const reply = typeof code === 'number' ? code : Number(/\b(\d{3}) \([A-Z-]+\)/.exec(text)?.[1]);
  if (Number.isInteger(reply)) return byReply(reply, text);
  const known = typeof code === 'string' ? byCode(code, text) : null;
  if (known !== null) return known;
  // Node tries every address of a name; all of them failed.
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  return firstMatch(BY_MESSAGE, text);
}

/** Only the login, the virtual host and limits are distinguished by the text of a reply. */
function byReply(reply: number, text: string): ProblemCode {
  const isGeneral = reply === 403 || reply === 530;
  return (isGeneral ? firstMatch(BY_MESSAGE.slice(0, 3), text) : null) ?? BY_REPLY[reply] ?? 'REFUSED';
}

function byCode(code: string, text: string): ProblemCode | null {
  if (Object.hasOwn(SENTENCES, code)) return code as ProblemCode;
  // OpenSSL also reports an alert of the other side by the code EPROTO.
  return code === 'EPROTO' && /alert/i.test(text) ? 'CLIENTCERT' : firstMatch(BY_CODE, code);
}
