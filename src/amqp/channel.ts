/** Channels with a deadline for every reply, and without unhandled errors. */
import type { ServerProblem } from '../server-problems.ts';
import { settleInTime } from '../waiting.ts';
import type { AmqpClient, AmqpClientChannel, PublishOptions } from './client.ts';
import { AmqpError, amqpError, describeAmqpError, toAmqpError } from './problems.ts';

/** How long to wait. */
export interface AmqpLimits {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_MS = 5_000;

/**
 * Limits the wait for a reply of RabbitMQ, see {@link settleInTime}.
 *
 * @throws AmqpError with the code `TimeoutError`
 */
function withAmqpDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs = DEFAULT_MS }: AmqpLimits = {},
): Promise<T> {
  return settleInTime(promise, { signal, ms: timeoutMs }, () => amqpError('TimeoutError'));
}

/** A channel. RabbitMQ ends it when it refuses a request; the connection stays. */
export interface AmqpChannel {
  /** Resolves with the reason when the channel has ended, whatever ended it. */
  readonly ended: Promise<ServerProblem>;
  /** Whether it has not ended. */
  isOpen(): boolean;
  /**
   * Sends a request and waits for the reply.
   *
   * @throws AmqpError when RabbitMQ refuses, is late, or the channel has ended
   */
  request<T>(send: (channel: AmqpClientChannel) => Promise<T>, limits?: AmqpLimits): Promise<T>;
  /** Sends what has no reply, such as an acknowledgement. @returns false if the channel has ended */
  send(action: (channel: AmqpClientChannel) => unknown): boolean;
  /** Ends it. Resolves within a second. */
  close(): Promise<void>;
}

/** The purpose of a channel. */
export interface ChannelKind {
  /** Whether RabbitMQ confirms each published message, see {@link publishConfirmed}. Default false. */
  readonly confirm?: boolean;
}

/** How long to wait for the end of a channel, in milliseconds. */
const CLOSE_MS = 1_000;

/** @throws AmqpError when there is none */
export async function openChannel(
  client: AmqpClient,
  { confirm = false }: ChannelKind,
  limits: AmqpLimits,
): Promise<AmqpChannel> {
  const opening = attempt(() => (confirm ? client.createConfirmChannel() : client.createChannel()));
  // Nothing that happens to the channel between the reply and its arrival here may be missed.
  const wrapping = opening.then(wrap);
  try {
    return await withAmqpDeadline(wrapping, limits);
  } catch (error) {
    // One that opens too late must not stay open.
    void wrapping.then((late) => late.close()).catch(() => {});
    throw toAmqpError(error);
  }
}

function wrap(raw: AmqpClientChannel): AmqpChannel {
  let isOpen = true;
  let reason: ServerProblem | null = null;
  const ended = new Promise<ServerProblem>((resolve) => {
    const end = (): void => {
      isOpen = false;
      resolve(reason ?? amqpError('LOST').problem);
    };
    // Without a listener, an error would end the host's process.
    raw.on('error', (error: unknown) => {
      isOpen = false;
      reason ??= describeAmqpError(error);
    });
    raw.on('close', end);
    raw.on('handler-error', () => {});
  });
  return {
    ended,
    isOpen: () => isOpen,
    async request(send, limits) {
      if (!isOpen) throw amqpError('LOST');
      try {
        return await withAmqpDeadline(
          attempt(() => send(raw)),
          limits,
        );
      } catch (error) {
        throw toAmqpError(error);
      }
    },
    send(action) {
      if (!isOpen) return false;
      try {
        action(raw);
        return true;
      } catch {
        return false;
      }
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await withAmqpDeadline(
        attempt(() => raw.close()),
        { timeoutMs: CLOSE_MS },
      ).catch(() => {});
    },
  };
}

/** amqplib throws at once where a channel or connection has ended. */
async function attempt<T>(run: () => Promise<T>): Promise<T> {
  return run();
}

/**
 * Whether an exchange exists. RabbitMQ ends the channel if it does not, so each question has one of its own.
 *
 * @param connection opens the channel
 */
export async function hasExchange(
  connection: { channel(kind?: ChannelKind, limits?: AmqpLimits): Promise<AmqpChannel> },
  exchange: string,
  limits: AmqpLimits = {},
): Promise<boolean> {
  const channel = await connection.channel({}, limits);
  try {
    await channel.request((raw) => raw.checkExchange(exchange), limits);
    return true;
  } catch (error) {
    if (describeAmqpError(error).code === 'NOTFOUND') return false;
    throw error;
  } finally {
    void channel.close();
  }
}

/**
 * Publishes on a channel that confirms, and waits until RabbitMQ has accepted the message.
 *
 * @throws AmqpError when it was not accepted, or that is unknown
 */
export function publishConfirmed(
  channel: AmqpChannel,
  message: {
    readonly exchange: string;
    readonly routingKey: string;
    readonly content: Buffer;
    readonly options?: PublishOptions;
  },
  limits?: AmqpLimits,
): Promise<void> {
  const { exchange, routingKey, content, options } = message;
  return channel.request(
    (raw) =>
      new Promise<void>((resolve, reject) => {
        raw.publish(exchange, routingKey, content, options, (error) => {
          if (error === null || error === undefined) resolve();
          else void whyUnconfirmed(channel).then(reject);
        });
      }),
    limits,
  );
}

/** The callback of a message comes before the end of its channel is reported, which has the reason. */
async function whyUnconfirmed(channel: AmqpChannel): Promise<AmqpError> {
  await Promise.resolve();
  return channel.isOpen() ? amqpError('REFUSED') : new AmqpError(await channel.ended);
}
