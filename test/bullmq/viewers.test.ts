import * as bullmq from 'bullmq';
import { type Command, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

/** A client that counts what it sends, and sends nothing while it is held. */
function heldClient(port: number) {
  const client = new Redis(port, '127.0.0.1');
  const send = client.sendCommand.bind(client);
  const waiting: (() => unknown)[] = [];
  const state = { client, sent: 0, isHeld: false, release };
  client.sendCommand = (command: Command, ...rest) => {
    if (!state.isHeld) {
      state.sent += 1;
      return send(command, ...rest);
    }
    waiting.push(() => client.sendCommand(command, ...rest));
    return command.promise;
  };
  function release(): void {
    state.isHeld = false;
    for (const resume of waiting.splice(0)) resume();
  }
  return state;
}

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'twenty viewers of BullMQ'), () => {
  const JOBS = 60;
  let app: BullMQApp;
  let redis: ReturnType<typeof heldClient>;

  beforeAll(async () => {
    app = await startBullMQ(bullmq);
    await app.queue('mail').addBulk(Array.from({ length: JOBS }, (_, n) => ({ name: 'send', data: { n } })));
    redis = heldClient(app.redis.port);
  });

  afterAll(async () => {
    redis?.client.disconnect();
    await app?.close();
  });

  // No two addresses are the same, so that no answer is that of an earlier request.
  it.each([
    ['a page of the list', '/api/tasks/?limit=21', '/api/tasks/?limit=22'],
    ['statistics', '/api/tasks/?limit=0&stats=61', '/api/tasks/?limit=0&stats=62'],
    ['a task', '/api/tasks/mail%3A1/', '/api/tasks/mail%3A2/'],
    ['a workflow', '/api/tasks/mail%3A3/graph/', '/api/tasks/mail%3A4/graph/'],
    ['the feed', '/api/events/latest/?limit=21', '/api/events/latest/?limit=22'],
  ])('cost Redis as many commands as one: %s', async (_, one, other) => {
    let arrived = 0;
    const authorize = () => {
      arrived += 1;
      return true;
    };
    const sources = bullmqSources({ connection: redis.client });
    const { get } = await serve(EXPRESS, { sources, authorize });
    await get('/api/tasks/');
    const ask = async (path: string, viewers: number): Promise<number> => {
      [arrived, redis.isHeld] = [0, true];
      const before = redis.sent;
      const answers = Promise.all(Array.from({ length: viewers }, () => get(path)));
      // Nothing is read before all have asked.
      await until(() => arrived === viewers);
      redis.release();
      expect((await answers).map(({ status }) => status)).toEqual(Array.from({ length: viewers }, () => 200));
      return redis.sent - before;
    };
    const alone = await ask(one, 1);
    expect(alone).toBeGreaterThan(0);
    // Now and then the queues are searched for, whoever asks.
    expect(await ask(other, 20)).toBeLessThanOrEqual(alone + 3);
  });
});
