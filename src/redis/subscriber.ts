/**
 * A client that subscribes, for URLs. A busy deployment publishes each message by itself, and waking up for
 * each of them takes several times the CPU time of reading it. So this client, unlike node-redis, stops reading
 * for a moment after each read; messages wait in the socket meanwhile, and are then read together.
 */
import { EventEmitter, once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { CeleryRedisConnection, RedisListener } from './node-redis.ts';
import { redisError } from './problems.ts';
import { createRespParser, type RespReply } from './resp-parser.ts';

/** Pauses between two reads, in milliseconds: usual, and while more than {@link MUCH} arrives in between. */
const PAUSE_MS = 50;
const SHORT_PAUSE_MS = 5;
/** Bytes. More than this in one read: there is no pause at all. */
const MUCH = 48 * 1024;
const READ_SIZE = 64 * 1024;

/** Login of a subscriber. */
export interface SubscriberLogin {
  readonly database: number;
  readonly username: string | null;
  readonly password: string | null;
}

/** A command without a complete reply. */
interface Pending {
  /** Replies that are still to come: one for each channel. */
  replies: number;
  resolve(reply: RespReply): void;
  reject(error: unknown): void;
}

interface State {
  readonly socket: Socket;
  readonly events: EventEmitter;
  readonly pending: Pending[];
  /** By channel or pattern. */
  readonly listeners: Map<string, RedisListener>;
  /** Whether messages have been read since the last pause. */
  hasMessages: boolean;
  isOver: boolean;
}

/** Where a subscriber connects to. */
export interface SubscriberSocket {
  /** Options of `net.connect` or `tls.connect`. */
  readonly address: NetConnectOpts & ConnectionOptions;
  readonly tls: boolean;
  /** Most time to connect. */
  readonly timeoutMs: number;
}

/** Creates a client that is not connected yet, and never reconnects by itself. */
export function createSubscriber(options: SubscriberSocket, login: SubscriberLogin): CeleryRedisConnection {
  let opened: State | null = null;
  let isUnref = false;
  // Without a listener, an error event would throw.
  const events = new EventEmitter().on('error', () => {});
  const state = (): State => {
    if (opened === null || opened.isOver) throw redisError('LOST');
    return opened;
  };
  const end = (): void => {
    if (opened !== null) finish(opened, redisError('LOST'));
  };
  return {
    async connect() {
      opened = openSocket(options, events);
      if (isUnref) opened.socket.unref();
      await connected(opened, options);
      await logIn(opened, login);
    },
    pSubscribe: async (patterns, listener) => subscribe(state(), 'PSUBSCRIBE', patterns, listener),
    subscribe: async (channels, listener) => subscribe(state(), 'SUBSCRIBE', channels, listener),
    ping: async () => send(state(), ['PING']),
    sendCommand: async (args) => send(state(), args as readonly string[]),
    close: async () => end(),
    destroy: end,
    on: (event, listener) => events.on(event, listener),
    unref() {
      isUnref = true;
      opened?.socket.unref();
    },
  };
}

function openSocket({ tls, address }: SubscriberSocket, events: EventEmitter): State {
  const parser = createRespParser((reply) => take(state, reply));
  let received = 0;
  let timer: NodeJS.Timeout | undefined;
  const resume = (): void => {
    received = 0;
    socket.resume();
  };
  const onread = {
    buffer: Buffer.allocUnsafeSlow(READ_SIZE),
    /** @returns false to pause */
    callback(count: number, buffer: Uint8Array): boolean {
      try {
        parser.write(Buffer.from(buffer.buffer, buffer.byteOffset, count));
      } catch (error) {
        finish(state, error);
      }
      received += count;
      // After a reply there is no pause: a monitor that starts misses messages until it has subscribed.
      if (count > MUCH || state.isOver || !state.hasMessages) return true;
      state.hasMessages = false;
      timer = setTimeout(resume, received > MUCH ? SHORT_PAUSE_MS : PAUSE_MS).unref();
      return false;
    },
  };
  const settings = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 5_000, ...address, onread };
  const socket = tls ? connectTls(settings) : connect(settings);
  const state: State = {
    socket,
    events,
    pending: [],
    listeners: new Map(),
    hasMessages: false,
    isOver: false,
  };
  socket.on('error', (error) => finish(state, error));
  socket.on('close', () => {
    clearTimeout(timer);
    finish(state, redisError('LOST'));
  });
  return state;
}

async function connected({ socket }: State, { tls, timeoutMs }: SubscriberSocket): Promise<void> {
  const late = (): void => void socket.destroy(redisError('TimeoutError'));
  socket.setTimeout(timeoutMs, late);
  await once(socket, tls ? 'secureConnect' : 'connect');
  socket.setTimeout(0, late);
}

async function logIn(state: State, { database, username, password }: SubscriberLogin): Promise<void> {
  if (password !== null) await send(state, ['AUTH', ...(username === null ? [] : [username]), password]);
  if (database !== 0) await send(state, ['SELECT', String(database)]);
}

function send(state: State, args: readonly string[], replies = 1): Promise<RespReply> {
  return new Promise((resolve, reject) => {
    state.pending.push({ replies, resolve, reject });
    const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
    state.socket.write(`*${args.length}\r\n${parts.join('')}`);
  });
}

async function subscribe(
  state: State,
  command: 'SUBSCRIBE' | 'PSUBSCRIBE',
  names: readonly string[],
  listener: RedisListener,
): Promise<void> {
  for (const name of names) state.listeners.set(name, listener);
  await send(state, [command, ...names], names.length);
}

function take(state: State, reply: RespReply): void {
  if (!takeMessage(state, reply)) takeReply(state, reply);
}

/** @returns false when it is the reply to a command */
function takeMessage(state: State, reply: RespReply): boolean {
  if (!Array.isArray(reply)) return false;
  const [kind, name = '', third = '', fourth = ''] = reply as readonly string[];
  if (kind === 'pmessage') state.listeners.get(name)?.(fourth, third);
  else if (kind === 'message') state.listeners.get(name)?.(third, name);
  else return false;
  state.hasMessages = true;
  return true;
}

function takeReply(state: State, reply: RespReply): void {
  const isRefused = reply instanceof Error;
  const [first] = state.pending;
  if (first === undefined) {
    // Redis says by itself why it ends a connection.
    if (isRefused) finish(state, reply);
    return;
  }
  first.replies -= 1;
  if (!isRefused && first.replies > 0) return;
  state.pending.shift();
  if (isRefused) first.reject(reply);
  else first.resolve(reply);
}

function finish(state: State, error: unknown): void {
  if (state.isOver) return;
  state.isOver = true;
  state.socket.destroy();
  for (const { reject } of state.pending.splice(0)) reject(error);
  state.events.emit('error', error);
}
