/** What one look at the whole deployment asks of Redis, by the number of queues. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';
import { useSourceRedis } from './source-redis.ts';

const QUEUES = Array.from({ length: 50 }, (_, index) => `q${index}`);
/** Settings, nine lengths, the next jobs of two lists and of a set, and the end of its event stream. */
const MOST_PER_QUEUE = 14;
/** Commands about the whole server. */
const MOST_PER_SERVER = 20;
/** Commands that are sent in one turn of the event loop, by each of three readers: a small part of a look. */
const MOST_PER_TURN = 3 * 125;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'one look at many queues'), () => {
  const on = useSourceRedis(...QUEUES);

  /** How many commands the server got since the last call. */
  async function commands(): Promise<number> {
    const stats = await on.redis.info('commandstats');
    await on.redis.config('RESETSTAT');
    return [...stats.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  it('asks each of them once for what components, checks and rules all need', async () => {
    const ended = { part: 'completed', count: 3, time: Date.now() - 60_000 } as const;
    await fillQueues(on.server.port, ...QUEUES.map((queue) => ({ queue, ...ended })));
    for (const queue of QUEUES) await on.redis.xadd(`bull:${queue}:events`, '*', 'event', 'drained');
    const { sources } = on;
    // The first look searches for the queues. Another router reads everything again, findings included.
    const [first, second] = [await serve(EXPRESS, { sources }), await serve(EXPRESS, { sources })];
    await first.get('/api/components/');
    await commands();
    await second.get('/api/components/');
    expect(await commands()).toBeLessThanOrEqual(MOST_PER_QUEUE * QUEUES.length + MOST_PER_SERVER);
  });

  it('spreads what it asks of many queues over many turns of the event loop', async () => {
    const client = new Redis(on.server.port, '127.0.0.1');
    let inTurn = 0;
    let most = 0;
    let all = 0;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (...command) => {
      if (inTurn === 0) setImmediate(() => (inTurn = 0));
      inTurn += 1;
      all += 1;
      most = Math.max(most, inTurn);
      return send(...command);
    };
    const sources = bullmqSources({ connection: client });
    const host = await serve(EXPRESS, { sources });
    await host.get('/api/components/');
    await host.get('/api/components/');
    sources.close();
    client.disconnect();
    expect(all).toBeGreaterThan(10 * QUEUES.length);
    expect(most).toBeLessThan(MOST_PER_TURN);
  });
});
