import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createAclUsers, refusals, urlAs } from '../helpers/acl-users.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, page, queryOf } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContract, NOT_SEEDED } from '../testing/contract-parts.ts';

/** What this source gives the suite nothing to check with. */
const ITS_GAPS = {
  'tasks: combines filters: all of them must match': 'No listed task has both a name and a worker.',
  'tasks: meets all conditions at once, beside filters and texts':
    'No listed task has both a name and a worker.',
  'tasks: continues after a row at the position that endAt() returns': 'No page of several rows has endAt().',
  'tasks.tree: reaches every relative from any task of the workflow':
    'No listed task has a relative in the list.',
  'tasks.stats: says which tasks sent those of a name, and which ones they sent':
    'No listed task has a parent of the same day.',
};

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'bullmqSources with a store'), () => {
  let app: BullMQApp;
  let redis: Redis;
  const store = createArrayStore();

  beforeAll(async () => {
    app = await startBullMQ(bullmq);
    redis = new Redis(app.redis.port, '127.0.0.1');
    await createAclUsers(app.redis.url());
    app.worker('mail', async ({ data }) => {
      if (data.fails) throw new Error(`broken ${data.n}`);
      return { sent: data.n };
    });
    const mail = app.queue('mail');
    await app.flow().addBulk(
      [1, 2, 3].map((n) => ({
        ...{ name: 'album', queueName: 'mail', data: { n }, opts: { removeOnComplete: n !== 1 } },
        children: [4, 5].map((part) => ({
          name: 'send',
          queueName: 'mail',
          data: { n: part },
          opts: { removeOnComplete: true },
        })),
      })),
    );
    for (let n = 0; n < 30; n += 1) {
      const opts = { removeOnComplete: n % 2 === 0, removeOnFail: n % 3 === 0 };
      await mail.add(n % 2 ? 'send' : 'forward', { n, fails: n % 5 === 0 }, opts);
    }
    const recording = bullmqSources({ connection: urlAs('bullmq', app.redis.url()), store });
    await until(async () => (await recording.history?.getHistoryStats(context))?.tasks === 39);
    await recording.close();
  }, 60_000);

  afterAll(async () => {
    redis?.disconnect();
    await app?.close();
  });

  describe('keeps the contract of sources', () => {
    itKeepsTheContract(
      {
        parts: ALL_PARTS,
        create: () => ({ sources: bullmqSources({ connection: urlAs('bullmq', app.redis.url()), store }) }),
      },
      { ...NOT_SEEDED, ...ITS_GAPS },
    );
  });

  it('asks for nothing that a user who may only read may not do', async () => {
    expect(await refusals(app.redis.url(), 'bullmq')).toEqual([]);
  });

  it('reads each job a bounded number of times, however many clients ask', { timeout: 120_000 }, async () => {
    const queue = app.queue('cost', { prefix: 'cost' });
    const own = createArrayStore();
    const client = new Redis(app.redis.port, '127.0.0.1');
    let sent = 0;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (...args) => {
      sent += 1;
      return send(...args);
    };
    const spent = (): { readonly calls: number; readonly bytes: number } => ({
      calls: sent,
      bytes: client.stream.bytesRead + client.stream.bytesWritten,
    });
    const sources = bullmqSources({ connection: client, prefix: 'cost', store: own });
    await until(async () => (await page(sources, { queues: ['cost'] })).total === 0);
    const COUNT = 2_000;
    const idle = { ...spent(), at: performance.now() };
    // It looks at the queue by itself, also while nothing happens.
    await until(() => spent().calls >= idle.calls + 3);
    const before = spent();
    const seconds = (performance.now() - idle.at) / 1_000;
    // Once a second, and five more every ten seconds for the depth of the queue.
    expect(before.calls - idle.calls).toBeLessThanOrEqual(10 * Math.ceil(seconds + 1));
    const data = { text: 'x'.repeat(500) };
    // A busy machine takes some seconds to read what was added; afterwards the jobs are gone.
    const opts = { delay: 15_000, removeOnComplete: true };
    await queue.addBulk(Array.from({ length: COUNT }, () => ({ name: 'a', data, opts })));
    app.worker('cost', async () => ({ ok: true }), { concurrency: 50, prefix: 'cost' });
    await until(() => own.rows('bullmq').tasks.size === COUNT, 60_000);
    const after = spent();
    const perJob = (after.calls - before.calls) / COUNT;
    console.log({ commandsPerJob: perJob, bytesPerJob: (after.bytes - before.bytes) / COUNT });
    expect((after.bytes - before.bytes) / COUNT).toBeLessThan(3_000);
    expect(perJob).toBeLessThan(7);
    // The last of them are stored by their events first.
    await until(async () => {
      const { tasks } = await page(sources, { queues: ['cost'], limit: 1_000 });
      return tasks.length === 1_000 && tasks.every(({ args }) => args === JSON.stringify(data));
    });
    const one = spent();
    await page(sources, { queues: ['cost'] });
    const two = spent();
    expect(two.calls - one.calls).toBeLessThanOrEqual(120);
    await Promise.all(
      Array.from({ length: 64 }, () => sources.tasks.listTasks(queryOf({ limit: 10 }), context)),
    );
    expect(own.rows('bullmq').tasks.size).toBe(COUNT);
    await sources.close();
    client.disconnect();
  });
});
