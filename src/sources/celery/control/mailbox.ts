/**
 * Sends remote control messages and receives the replies (kombu/pidbox.py). Questions that overlap share
 * one reply list, bound while any of them waits and removed behind the last one.
 */
import { randomUUID } from 'node:crypto';
import type { RedisReader } from '../../../redis/reader.ts';
import type { ControlAddress } from './address.ts';
import { type ControlCommand, encodeMessage } from './encoder.ts';
import { ControlFailure, type ControlProblem, failureOf } from './failure.ts';
import { createLeftovers, OID_PREFIX } from './leftovers.ts';
import { type ControlReply, decodeReply } from './reply.ts';

/**
 * Seconds that Redis holds a connection for a reply before it is asked again. Whole ones, for Redis
 * before 6, and few: a connection that does not answer for three seconds counts as dead.
 */
const HOLD = '1';
const HOLD_DEADLINE = 3000;
/** A reply list older than this takes no more questions, so that none lives for ever. Milliseconds. */
const MAX_AGE = 5 * 60_000;

const OTHER_SEPARATOR: ControlProblem = {
  code: 'UNSAFE',
  sentence:
    'Workers use another separator than this monitor: set settings.broker_transport_options.sep as the app has it.',
  missingRights: null,
};

/** Whoever waits for replies. */
export interface Listener {
  /** @returns whether it waits for no other */
  onReply(reply: ControlReply): boolean;
  /** No further reply will come; with what was thrown. */
  onLost(error: unknown): void;
}

/** A message that was sent. */
export interface Sent {
  /** How many connections heard it: workers, perhaps others, and in a cluster not all. */
  readonly receivers: number;
  /** To be called once. @param isComplete whether no reply can come any more */
  end(isComplete: boolean): void;
}

/** One reply list and those who wait for what comes into it. */
interface Session {
  readonly oid: string;
  readonly openedAt: number;
  readonly listeners: Map<string, Listener>;
  isReceiving: boolean;
  /** Nobody may join any more. */
  isOver: boolean;
  /** Some worker may still answer. */
  isPartial: boolean;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** Sends messages. */
export interface Mailbox {
  /**
   * @param workers node names of those who are to act on it; `null`: all
   * @param timeoutMs most time to take for sending
   * @throws ControlFailure when the message was not sent
   */
  send(
    command: ControlCommand,
    workers: readonly string[] | null,
    timeoutMs: number,
    listener: Listener,
  ): Promise<Sent>;
  /** Resolves when nothing of ours is left in Redis, or within about a second. */
  close(): Promise<void>;
}

/**
 * @param commands the connection for everything that is answered at once
 * @param waiting the one that waits for replies
 * @param known names of workers that may answer
 */
export function createMailbox(
  address: ControlAddress,
  commands: RedisReader,
  waiting: RedisReader,
  known: () => readonly string[],
): Mailbox {
  const leftovers = createLeftovers(address, commands);
  let current: Promise<Session> | null = null;
  let latest: Session | null = null;
  let isChecked = false;
  let closed = false;

  /** A binding that workers cannot take apart ends them at their next reply, to whomever. */
  async function checkSeparator(signal: AbortSignal): Promise<void> {
    let member: unknown;
    try {
      member = await commands.command(['SRANDMEMBER', address.listenersKey], { signal });
    } catch (error) {
      throw failureOf(error, 'SRANDMEMBER', address);
    }
    if (typeof member !== 'string') return;
    if (!address.isListener(member)) throw new ControlFailure(OTHER_SEPARATOR);
    isChecked = true;
  }

  async function open(signal: AbortSignal): Promise<Session> {
    if (!isChecked) await checkSeparator(signal);
    const oid = `${OID_PREFIX}${Date.now().toString(36)}.${randomUUID()}`;
    await leftovers.prepare(oid, signal);
    try {
      await commands.command(['SADD', address.bindingKey, address.member(oid)], { signal });
    } catch (error) {
      // It may have come through, and only the answer not.
      leftovers.add(oid);
      throw failureOf(error, 'SADD', address);
    }
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    latest = {
      oid,
      openedAt: performance.now(),
      listeners: new Map(),
      isReceiving: false,
      isOver: false,
      isPartial: false,
      ended,
      end,
    };
    return latest;
  }

  async function join(ticket: string, listener: Listener, signal: AbortSignal): Promise<Session> {
    for (;;) {
      const opening = current ?? open(signal);
      current = opening;
      let session: Session;
      try {
        session = await opening;
      } catch (error) {
        if (current === opening) current = null;
        throw error;
      }
      if (closed) throw failureOf(null, 'SADD', address);
      if (session.isOver) continue;
      if (performance.now() - session.openedAt < MAX_AGE) {
        session.listeners.set(ticket, listener);
        return session;
      }
      await session.ended;
    }
  }

  function leave(session: Session, ticket: string, isComplete: boolean): void {
    session.isPartial ||= !isComplete;
    session.listeners.delete(ticket);
    if (!session.isReceiving && session.listeners.size === 0) void dispose(session);
  }

  async function dispose(session: Session): Promise<void> {
    session.isOver = true;
    current = null;
    await leftovers.remove(session.oid, session.isPartial);
    if (latest === session) latest = null;
    session.end();
  }

  async function receive(session: Session): Promise<void> {
    if (session.isReceiving) return;
    session.isReceiving = true;
    const key = address.replyKey(session.oid);
    try {
      while (session.listeners.size > 0) {
        const popped = await waiting.command(['BRPOP', key, HOLD], { timeoutMs: HOLD_DEADLINE });
        if (Array.isArray(popped) && typeof popped[1] === 'string') dispatch(session, popped[1]);
      }
    } catch (error) {
      session.isPartial = true;
      const failure = failureOf(error, 'BRPOP', address);
      for (const listener of session.listeners.values()) listener.onLost(failure);
      session.listeners.clear();
    }
    await dispose(session);
  }

  function dispatch(session: Session, message: string): void {
    const reply = decodeReply(message, known);
    // A late one, of a question that nobody asks any more, or none of ours.
    if (reply === null) return;
    if (session.listeners.get(reply.ticket)?.onReply(reply) === true) session.listeners.delete(reply.ticket);
  }

  /** A worker listens on one of the channels, so none hears a message twice. */
  async function publish(message: string, signal: AbortSignal): Promise<number> {
    let receivers = 0;
    let refused: unknown = null;
    for (const channel of address.channels) {
      try {
        receivers += Number(await commands.command(['PUBLISH', channel, message], { signal }));
      } catch (error) {
        refused = error;
      }
    }
    if (refused !== null && receivers === 0) throw failureOf(refused, 'PUBLISH', address);
    return receivers;
  }

  return {
    async send(command, workers, timeoutMs, listener) {
      const signal = AbortSignal.timeout(timeoutMs);
      const ticket = randomUUID();
      const session = await join(ticket, listener, signal);
      try {
        const ids = {
          ticket,
          oid: session.oid,
          deliveryTag: randomUUID(),
          expires: (Date.now() + timeoutMs) / 1000,
        };
        const receivers = await publish(encodeMessage(command, workers, address, ids), signal);
        if (receivers > 0) void receive(session);
        return { receivers, end: (isComplete) => leave(session, ticket, isComplete) };
      } catch (error) {
        leave(session, ticket, false);
        throw error;
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      await current?.catch(() => {});
      const session = latest;
      if (session !== null) {
        const listeners = [...session.listeners.values()];
        session.listeners.clear();
        for (const listener of listeners) listener.onLost(failureOf(null, 'BRPOP', address));
        await leftovers.remove(session.oid, false);
      }
      await Promise.all([leftovers.close(), waiting.close()]);
      await commands.close();
    },
  };
}
