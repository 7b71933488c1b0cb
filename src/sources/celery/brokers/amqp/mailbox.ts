/**
 * Remote control over AMQP (kombu/pidbox.py): requests go to a fanout exchange, replies arrive in a queue of our own
 * that ends with its connection. Queues of workers are never declared, because their properties depend on the
 * workers' version and settings.
 */
import { randomUUID } from 'node:crypto';
import {
  type AmqpChannel,
  type AmqpClientChannel,
  type AmqpLimits,
  type AmqpMessage,
  hasExchange,
  publishConfirmed,
} from '../../../../amqp/channel.ts';
import type { AmqpConnection } from '../../../../amqp/connection.ts';
import { amqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import {
  ControlFailure,
  type ControlRequest,
  type Mailbox,
  type ReplyListener,
  type SentRequest,
} from '../../broker.ts';
import type { Problem } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';

/** How the name of each queue of ours begins. */
export const OWN_PREFIX = 'express-task-monitor.';
/** Most replies that wait for us to read them. */
const MOST_REPLIES = 10_000;

/** Names by the app's settings. */
export function controlNames({ control_exchange }: CelerySettings) {
  const exchange = `${control_exchange ?? 'celery'}.pidbox`;
  return {
    /** A fanout that the queues of all workers are bound to. */
    exchange /** A direct exchange: the routing key is the id of a client. */,
    replyExchange: `reply.${exchange}`,
  };
}

/** A channel with a queue of replies. */
interface Session {
  readonly channel: AmqpChannel;
  /** The routing key of replies. */
  readonly oid: string;
  /** Tickets of requests that no queue has received. */
  readonly returned: Set<string>;
  /** When the last reply arrived; monotonic, in milliseconds. */
  repliedAt: number;
}

interface MailboxState {
  readonly connection: AmqpConnection;
  readonly rights: string;
  readonly names: ReturnType<typeof controlNames>;
  /** The requests that wait for replies, by ticket. */
  readonly listeners: Map<string, ReplyListener>;
  /** The session, or the attempt to open one. `null` in it: no worker has ever listened. */
  session: Promise<Session | null> | null;
  closed: boolean;
}

/**
 * Nothing is connected before the first request. Then there is one channel with one queue.
 *
 * @param connection used for nothing that must work while RabbitMQ takes no messages. Closed with the mailbox
 * @param rights the command that gives the user the rights for remote control
 */
export function createAmqpMailbox(
  connection: AmqpConnection,
  settings: CelerySettings,
  rights: string,
): Mailbox {
  const state: MailboxState = {
    connection,
    rights,
    names: controlNames(settings),
    listeners: new Map(),
    session: null,
    closed: false,
  };
  return {
    fault: null,
    send: (request, timeoutMs, listener) => send(state, request, timeoutMs, listener),
    close: () => close(state),
  };
}

async function send(
  state: MailboxState,
  request: ControlRequest,
  timeoutMs: number,
  listener: ReplyListener,
): Promise<SentRequest> {
  const { connection, listeners, names } = state;
  const { ticket, expires } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const limits: AmqpLimits = { signal, timeoutMs };
  try {
    if (state.closed) throw amqpError('CLOSED');
    // A request sent now would reach the workers much later.
    if (connection.isBlocked()) throw amqpError('BLOCKED');
    const session = await sessionOf(state, limits);
    if (session === null) return { receivers: 0, end() {} };
    const { channel, oid, returned } = session;
    listeners.set(ticket, listener);
    const message = {
      exchange: names.exchange,
      routingKey: '',
      content: Buffer.from(request.body(names.replyExchange, oid), 'utf8'),
      // As Celery's own client sends it. RabbitMQ returns it if no worker listens.
      options: {
        contentType: 'application/json',
        contentEncoding: 'utf-8',
        headers: { clock: 1, expires },
        persistent: false,
        mandatory: true,
      },
    };
    await publishConfirmed(channel, message, limits);
    const sentAt = performance.now();
    return {
      // How many workers received it is not reported.
      receivers: returned.delete(ticket) ? 0 : null,
      end(isComplete) {
        listeners.delete(ticket);
        // The exchange of replies may have been deleted, and with it the binding of our queue.
        if (!isComplete && session.repliedAt < sentAt && listeners.size === 0) void channel.close();
      },
    };
  } catch (error) {
    listeners.delete(ticket);
    throw failureOf(state, error);
  }
}

/** Requests share a session until it ends. */
async function sessionOf(state: MailboxState, limits: AmqpLimits): Promise<Session | null> {
  for (;;) {
    const opening = state.session ?? openSession(state, limits);
    state.session = opening;
    const session = await opening.catch((error: unknown) => {
      if (state.session === opening) state.session = null;
      throw error;
    });
    if (session?.channel.isOpen() === true) return session;
    if (state.session === opening) state.session = null;
    if (session === null) return null;
  }
}

/** @returns `null` if the exchange does not exist: a worker declares it before it listens */
async function openSession(state: MailboxState, limits: AmqpLimits): Promise<Session | null> {
  const { connection, names } = state;
  if (!(await hasExchange(connection, names.exchange, limits))) return null;
  const isDeclared = await hasExchange(connection, names.replyExchange, limits);
  const channel = await connection.channel({ confirm: true }, limits);
  // Never used again, since a lost connection may still hold its queue.
  const oid = `${OWN_PREFIX}${randomUUID()}`;
  const session: Session = { channel, oid, returned: new Set(), repliedAt: Number.NEGATIVE_INFINITY };
  try {
    await channel.request(async (raw) => {
      // With the properties that every worker uses.
      if (!isDeclared) await raw.assertExchange(names.replyExchange, 'direct', { durable: false });
      await receiveReplies(state, session, raw);
    }, limits);
  } catch (error) {
    await channel.close();
    throw error;
  }
  void channel.ended.then((problem) => {
    const waiting = [...state.listeners.values()];
    state.listeners.clear();
    for (const listener of waiting) listener.onLost(new ControlFailure(problemWith(state, problem)));
  });
  return session;
}

async function receiveReplies(state: MailboxState, session: Session, raw: AmqpClientChannel): Promise<void> {
  const { channel, oid, returned } = session;
  const { replyExchange } = state.names;
  const queue = `${oid}.${replyExchange}`;
  await raw.assertQueue(queue, {
    durable: false,
    exclusive: true,
    autoDelete: true,
    arguments: { 'x-max-length': MOST_REPLIES },
  });
  await raw.bindQueue(queue, replyExchange, oid);
  raw.on('return', (message) => {
    const ticket = ticketIn((message as AmqpMessage).content);
    if (state.listeners.has(ticket)) returned.add(ticket);
  });
  const take = (message: AmqpMessage | null): void => {
    if (message !== null) deliver(state, session, message);
    // The queue was deleted.
    else void channel.close();
  };
  await raw.consume(queue, take, { noAck: true });
}

/** The ticket of a request of ours. */
function ticketIn(request: Buffer): string {
  return String((JSON.parse(request.toString('utf8')) as { readonly ticket?: unknown }).ticket);
}

function deliver({ listeners }: MailboxState, session: Session, { content, properties }: AmqpMessage): void {
  session.repliedAt = performance.now();
  const { headers = {}, contentType } = properties;
  const { ticket, compression } = headers;
  // A reply to a request that is over is dropped.
  const listener = typeof ticket === 'string' ? listeners.get(ticket) : undefined;
  const isLast = listener?.onReply({
    contentType: typeof contentType === 'string' ? contentType : '',
    isCompressed: typeof compression === 'string',
    body: content,
  });
  if (isLast === true) listeners.delete(String(ticket));
}

function failureOf(state: MailboxState, error: unknown): ControlFailure {
  return error instanceof ControlFailure
    ? error
    : new ControlFailure(problemWith(state, describeAmqpError(error)));
}

function problemWith({ rights }: MailboxState, { code, sentence }: Problem): Problem {
  if (code !== 'NOPERM') return { code, sentence };
  return {
    code,
    sentence: `The RabbitMQ user lacks a right that remote control needs. Run ${rights}`,
    missingRights: rights,
  };
}

async function close(state: MailboxState): Promise<void> {
  if (state.closed) return;
  state.closed = true;
  const session = await state.session?.catch(() => null);
  const waiting = [...state.listeners.values()];
  state.listeners.clear();
  for (const listener of waiting) listener.onLost(failureOf(state, amqpError('CLOSED')));
  await session?.channel.close();
  await state.connection.close();
}
