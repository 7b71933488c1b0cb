/** A Redis with a source, and something that hears and answers as workers do. */

import { afterEach, beforeAll, beforeEach } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import type { WorkerHealthCheck } from '../../src/model.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, startRedis, until } from '../helpers/redis-server.ts';

/** Names in Redis, as kombu makes them of the default settings for database 0. */
export const MAILBOX = '/0.celery.pidbox';
export const REPLY_BINDING = '_kombu.binding.reply.celery.pidbox';
export const LISTENERS = '_kombu.binding.celery.pidbox';
export const SEPARATOR = '\x06\x16';

/** The list in which an asker awaits replies. */
export const replyKey = (oid: string): string => `${oid}.reply.celery.pidbox`;

/** A request as workers receive it. */
export interface HeardRequest {
  readonly method: string;
  readonly ticket: string;
  readonly destination: readonly string[] | null;
  readonly reply_to: { readonly exchange: string; readonly routing_key: string };
  /** The message as it was published. */
  readonly message: string;
}

/** Where a listener listens and replies. Default: where workers do under the default settings. */
export interface ListenerPlace {
  readonly channel?: string;
  readonly replyKey?: (oid: string) => string;
}

/** A reply as kombu's Redis transport stores it. */
export function replyTo(ticket: string, body: object, more: object = {}): string {
  return JSON.stringify({
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
    'content-type': 'application/json',
    headers: { ticket },
    properties: { body_encoding: 'base64' },
    ...more,
  });
}

/** A worker that answers every request with a pong. */
export const pong =
  (name: string) =>
  ({ ticket }: HeardRequest): string[] => [replyTo(ticket, { [name]: { ok: 'pong' } })];

/** For one `describe`: Redis is emptied before each test, and what a test began is ended after it. */
export function useControlLab() {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
    return async () => {
      client.destroy();
      await redis.close();
    };
  });

  beforeEach(() => client.flushAll());

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  /** A source that is connected. */
  async function open(options: Partial<CelerySourcesOptions> = {}): Promise<CelerySources> {
    const sources = celerySources({ broker: redis.url(), ...options });
    ends.push(async () => await sources.close());
    await until(() => sources.events.status?.().ok === true);
    return sources;
  }

  /**
   * Something that hears messages as a worker does.
   *
   * @param answer makes the elements of the reply list
   */
  async function listener(
    answer: (request: HeardRequest) => string[] | Promise<string[]>,
    place: ListenerPlace = {},
  ): Promise<{ readonly heard: HeardRequest[] }> {
    const heard: HeardRequest[] = [];
    const own = client.duplicate();
    await own.connect();
    await own.subscribe(place.channel ?? MAILBOX, async (message) => {
      const body = JSON.parse(Buffer.from(JSON.parse(message).body, 'base64').toString());
      const request: HeardRequest = { ...body, message };
      heard.push(request);
      const replies = await answer(request);
      const key = (place.replyKey ?? replyKey)(request.reply_to.routing_key);
      if (replies.length > 0) await client.lPush(key, replies);
    });
    ends.push(async () => own.destroy());
    return { heard };
  }

  return {
    get redis(): RedisServer {
      return redis;
    },
    get client(): typeof client {
      return client;
    },
    /** What to end after the test. */
    ends,
    open,
    listener,
    /** Once no question is asked any more, nothing is in Redis. */
    async expectNothingLeft(): Promise<void> {
      await until(async () => (await client.dbSize()) === 0);
    },
  };
}

/** Asks who is alive. Workers that nobody has heard of respond only if they answer. */
export async function ping(sources: CelerySources): Promise<WorkerHealthCheck> {
  const check = await sources.health.checkWorkers?.({ ...context, ping: true });
  if (check == null) throw new Error('Workers cannot be asked.');
  return check;
}

/** Pings until these workers alone respond: an answer serves for a second. */
export async function untilResponding(sources: CelerySources, ...names: readonly string[]): Promise<void> {
  await until(async () => (await ping(sources)).responding.join() === [...names].sort().join());
}

/** What is wrong with remote control; `null` when nothing is. */
export async function controlError(sources: CelerySources): Promise<string | null> {
  return (await componentOf(sources, 'control')).config.error as string | null;
}
