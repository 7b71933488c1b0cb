import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createAclUsers, refusals, urlAs } from '../helpers/acl-users.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { itKeepsTheContract, NOT_SEEDED, partsWithout } from '../testing/contract-parts.ts';

/** A job does not say who works on it. */
const NO_WORKER = {
  'tasks: combines filters: all of them must match': 'No listed task has both a name and a worker.',
  'tasks: meets all conditions at once, beside filters and texts':
    'No listed task has both a name and a worker.',
};

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(
    redisMissing,
    'bullmqSources on $label, as a user who may only read, keeps the contract of sources',
  ),
  ({ bullmq }) => {
    let app: BullMQApp;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      await createAclUsers(app.redis.url());
      const [mail, image] = [app.queue('mail'), app.queue('image')];
      app.worker('mail', async (job) => {
        await job.log(`took ${job.name}`);
        if (job.data.fails > job.attemptsMade) throw new Error(`broken ${job.data.n}`);
        return { sent: job.data.n };
      });
      await app.flow().addBulk(
        [1, 2].map((n) => ({
          name: 'album',
          queueName: 'mail',
          data: { n, fails: 0 },
          children: [
            { name: 'resize', queueName: 'image', data: { n } },
            { name: 'send', queueName: 'mail', data: { n, fails: 0 } },
          ],
        })),
      );
      for (let n = 0; n < 7; n += 1) {
        await mail.add(
          n % 2 ? 'send' : 'forward',
          { n, fails: n % 5 === 0 ? 9 : n % 4 === 0 ? 1 : 0 },
          { attempts: 2 },
        );
        await image.add(
          'crop',
          { n },
          n % 3 === 0 ? { priority: n + 1 } : n % 3 === 1 ? { delay: 3_600_000 + n } : {},
        );
      }
      await app.settled(mail, 9, 'completed', 'failed');
    }, 60_000);

    afterAll(() => app?.close());

    itKeepsTheContract(
      {
        parts: partsWithout('history'),
        create: () => ({ sources: bullmqSources({ connection: urlAs('bullmq', app.redis.url()) }) }),
      },
      { ...NOT_SEEDED, ...NO_WORKER },
    );

    it('asks for nothing that this user may not do', async () => {
      expect(await refusals(app.redis.url(), 'bullmq')).toEqual([]);
    });
  },
);
