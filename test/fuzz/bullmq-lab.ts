/** A real Redis that BullMQ's targets fill as they like, and a source that reads it. */
import fc from 'fast-check';
import { type ChainableCommander, Redis } from 'ioredis';
import { expect } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import { type RedisServer, startRedis, until } from '../helpers/redis-server.ts';
import { number, text } from './inputs.ts';
import { mutated } from './mutations.ts';

/** Of every job, in milliseconds. */
export const TIME = 1_790_000_000_000;

const JSONS = [
  '{"to":"a@b.c","n":[1,null]}',
  '"text"',
  'null',
  '["Error: no\\n    at a (b.js:1:2)","Error: again"]',
];
/** What a field of a job may hold. */
export const fieldText = fc.oneof(
  text,
  number.map(String),
  mutated(JSONS),
  fc.constantFrom(String(TIME), '0', '', 'a:b:c', 'bull:q:j1', 'bull:other:7'),
);

/** To be opened before and closed after the cases of a target. */
export function createBullmqLab() {
  let server: RedisServer | null = null;
  let redis: Redis | null = null;
  let sources: BullMQSources | null = null;

  function opened() {
    if (server === null || redis === null || sources === null) throw new Error('The target is not open.');
    return { server, redis, sources };
  }

  return {
    port: () => opened().server.port,
    sources: () => opened().sources,
    async open(): Promise<void> {
      server = await startRedis();
      redis = new Redis(server.port, '127.0.0.1');
      const source = bullmqSources({ connection: server.url() });
      sources = source;
      await redis.hset('bull:q:meta', 'version', 'bullmq:6.7.0');
      await until(() => source.tasks.status?.().ok === true);
    },
    async close(): Promise<void> {
      await sources?.close();
      redis?.disconnect();
      await server?.close();
    },
    /** Empties the Redis, and writes what is wanted beside the queue `q`. */
    async fill(write: (pipe: ChainableCommander) => void): Promise<void> {
      const pipe = opened().redis.pipeline().flushall().hset('bull:q:meta', 'version', 'bullmq:6.7.0');
      write(pipe);
      const failed = ((await pipe.exec()) ?? []).flatMap(([error]) => error?.message ?? []);
      expect(failed).toEqual([]);
    },
  };
}
