/** A Redis with an asker of workers, and something that answers as workers do. */

import { afterEach, beforeAll, beforeEach } from 'vitest';
import { controlAddress } from '../../src/sources/celery/brokers/redis/control-address.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import {
  type Control,
  type ControlOptions,
  createControl,
} from '../../src/sources/celery/control/control.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, startRedis, until } from '../helpers/redis-server.ts';

type Client = ReturnType<typeof createClient>;

/** Longer than any answer takes on a busy machine, in milliseconds. A question ends when everybody has answered. */
const PATIENT_MS = 50_000;

/** For one `describe`: Redis is emptied before each test, and what a test began is ended after it. */
export function useControlLab() {
  let redis: RedisServer;
  let client: Client;
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

  function control(
    more: Partial<ControlOptions> & { settings?: CelerySettings } = {},
    url = redis.url(),
  ): Control {
    const { settings = {}, ...options } = more;
    const mailbox = createRedisMailbox(brokerEndpoint(url, settings), settings);
    const made = createControl({ mailbox, known: () => [], ...options });
    ends.push(() => made.close());
    return {
      ...made,
      ask: (command, given) => made.ask(command, { timeoutMs: PATIENT_MS, ...given }),
      enableEvents: (given) => made.enableEvents({ timeoutMs: PATIENT_MS, ...given }),
    };
  }

  /**
   * Something that hears messages as a worker does.
   *
   * @param answer makes the elements of the reply list
   * @param channels default: all that the settings name
   */
  async function listener(
    answer: (ticket: string, method: string) => string[] | Promise<string[]>,
    settings: CelerySettings = {},
    channels: readonly string[] = controlAddress(settings, 0).channels,
  ): Promise<{ heard: string[] }> {
    const heard: string[] = [];
    const own = client.duplicate();
    await own.connect();
    const address = controlAddress(settings, 0);
    await own.pSubscribe([...channels], async (message) => {
      const { method, ticket, reply_to } = JSON.parse(
        Buffer.from(JSON.parse(message).body, 'base64').toString(),
      );
      heard.push(method);
      const replies = await answer(ticket, method);
      if (replies.length > 0) await client.lPush(address.replyKey(reply_to.routing_key), replies);
    });
    ends.push(async () => own.destroy());
    return { heard };
  }

  function reply(ticket: string, body: object): string {
    return JSON.stringify({
      body: Buffer.from(JSON.stringify(body)).toString('base64'),
      'content-type': 'application/json',
      headers: { ticket },
      properties: { body_encoding: 'base64' },
    });
  }

  const pong = (name: string) => (ticket: string) => [reply(ticket, { [name]: { ok: 'pong' } })];

  /** Once no question is asked any more, nothing is in Redis. */
  async function expectNothingLeft(): Promise<void> {
    await until(async () => (await client.dbSize()) === 0);
  }

  return {
    get redis(): RedisServer {
      return redis;
    },
    get client(): Client {
      return client;
    },
    /** What to end after the test. */
    ends,
    control,
    listener,
    reply,
    pong,
    expectNothingLeft,
  };
}
