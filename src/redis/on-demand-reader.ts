/**
 * A reader over a client that is used on demand: the host's own, which is never closed, or one of ours, which
 * is dropped when it fails. Sends nothing without a request.
 */
import { debugChannel } from '../debug.ts';
import type { RedisClient } from './client.ts';
import { type IoredisAddress, ioredisClient, isIoredis, type OwnClient, openIoredis } from './ioredis.ts';
import { type CeleryRedisClient, isNodeRedis, nodeRedisClient } from './node-redis.ts';
import { redisError, withDeadline } from './problems.ts';
import {
  type ClientSupply,
  createReader,
  type ReaderState,
  type ReadOptions,
  type RedisReader,
} from './reader.ts';

/**
 * Longest wait for the first connection of a client, in milliseconds: BullMQ's own never settle while Redis is
 * unreachable.
 */
const OPENING = 2_000;

const LIMITS = {
  capacity: 4_000,
  queued: 2_000,
  perWrite: 500,
  // Below the limit of the router, so that an outage is not reported as a slow read.
  timeoutMs: 4_000,
};

const debug = debugChannel('bullmq');

/** The origin of the client. */
interface ClientOrigin {
  /** The client, connected or not. Called again after it rejected and after {@link ClientOrigin.drop}. */
  open(): Promise<RedisClient>;
  /** Called when a client of our own is no longer usable. */
  readonly drop?: () => void;
}

interface OnDemand {
  readonly origin: ClientOrigin;
  /** Called whenever the client connects or loses its connection. */
  readonly listeners: Set<(up: boolean) => void>;
  client: RedisClient | null;
  /** That of the last client. */
  address: string | null;
  unwatch: (() => void) | null;
  state: ReaderState;
  closed: boolean;
}

/**
 * Reads over a client of the host's. Never send it a command that blocks or writes.
 *
 * @param find the client of ioredis or node-redis; its commands reject with a problem if it is anything else
 */
export function createHostReader(find: () => unknown): RedisReader {
  return createOnDemandReader({
    async open() {
      const client = hostClient(await find());
      if (client !== null) return client;
      throw new TypeError('This is a client of neither ioredis nor node-redis.');
    },
  });
}

/** Reads over clients of ioredis of our own. */
export function createIoredisReader(address: IoredisAddress): RedisReader {
  let opening: Promise<OwnClient> | null = null;
  return createOnDemandReader({
    async open() {
      // Concurrent calls wait for the same client.
      opening ??= openIoredis(address);
      return (await opening).client;
    },
    drop() {
      const dropped = opening;
      opening = null;
      // A client that is still connecting ends as soon as it is connected.
      dropped?.then(
        ({ end }) => end(),
        () => {},
      );
    },
  });
}

function createOnDemandReader(origin: ClientOrigin): RedisReader {
  const self: OnDemand = {
    origin,
    listeners: new Set(),
    client: null,
    address: null,
    unwatch: null,
    state: { up: false, asOf: null, problem: null },
    closed: false,
  };
  const supply: ClientSupply = {
    acquire: (options) => acquire(self, options),
    untilLost: (promise) => untilLost(self, promise),
    answered(askedAt) {
      self.state = { up: true, asOf: askedAt, problem: null };
    },
    failed(problem) {
      if (self.state.problem === null) debug('Redis is unreachable: %s', problem.sentence);
      self.state = { up: false, asOf: self.state.asOf, problem };
      if (origin.drop !== undefined) forget(self);
    },
    state: () => self.state,
    address: () => self.address,
    async close() {
      self.closed = true;
      notify(self, false);
      forget(self);
    },
  };
  return createReader(supply, LIMITS);
}

async function acquire(self: OnDemand, { signal, timeoutMs = OPENING }: ReadOptions): Promise<RedisClient> {
  const ms = Math.min(timeoutMs, OPENING);
  const client = self.client ?? adopt(self, await withDeadline(self.origin.open(), { signal, ms }));
  if (client.isUp()) return client;
  // A client that was connected before has lost its connection: report that at once.
  if (self.state.asOf !== null) throw redisError('LOST');
  await untilUp(self, signal, ms);
  return client;
}

function adopt(self: OnDemand, client: RedisClient): RedisClient {
  if (self.closed) throw redisError('CLOSED');
  if (self.client?.raw === client.raw) return self.client;
  self.unwatch?.();
  self.client = client;
  self.address = client.address() ?? self.address;
  self.unwatch = client.watch((up) => {
    notify(self, up);
    if (!up && self.origin.drop !== undefined && self.client === client) forget(self);
  });
  return client;
}

function forget(self: OnDemand): void {
  self.unwatch?.();
  self.unwatch = null;
  self.client = null;
  self.origin.drop?.();
}

function notify({ listeners }: OnDemand, up: boolean): void {
  for (const listener of [...listeners]) listener(up);
}

function untilUp({ listeners }: OnDemand, signal: AbortSignal | undefined, ms: number): Promise<void> {
  let listener: (up: boolean) => void = () => {};
  const up = new Promise<void>((resolve) => {
    listener = (isUp) => isUp && resolve();
    listeners.add(listener);
  });
  return withDeadline(up, { signal, ms }).finally(() => listeners.delete(listener));
}

/** Clients keep waiting commands while they reconnect; callers are informed of the loss at once. */
function untilLost<T>({ listeners }: OnDemand, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = (up: boolean): void => {
      if (!up) reject(redisError('LOST'));
    };
    listeners.add(listener);
    promise.then(resolve, reject).finally(() => listeners.delete(listener));
  });
}

/**
 * Adapts a client of ioredis or node-redis, including one wrapped by BullMQ.
 *
 * @returns `null` for anything else
 */
export function hostClient(value: unknown): RedisClient | null {
  if (typeof value !== 'object' || value === null) return null;
  // BullMQ's wrapper of a client of node-redis.
  const { raw } = value as { raw?: unknown };
  if (isNodeRedis(raw)) return nodeRedisClient(raw);
  if (isIoredis(value)) return ioredisClient(value);
  return isNodeRedis(value) ? nodeRedisClient(value) : null;
}

/** Whether a value is a client of node-redis that can be duplicated and can subscribe. */
export function isDuplicable(value: unknown): value is CeleryRedisClient {
  const client = value as { duplicate?: unknown; pSubscribe?: unknown } | null;
  return (
    typeof client === 'object' &&
    client !== null &&
    typeof client.duplicate === 'function' &&
    typeof client.pSubscribe === 'function'
  );
}
