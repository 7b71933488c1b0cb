import * as bullmq from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { pack } from '../packaging/packed.ts';
import { examine, problemsIn, reportOf } from './examine.ts';

// They mostly wait: each look takes seconds.
describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'express-task-monitor doctor'),
  { concurrent: true },
  () => {
    let careless: RedisServer;

    beforeAll(async () => {
      // Blocks for a second, in which no client of these tests must wait.
      pack();
      careless = await startRedis('--maxmemory-policy', 'allkeys-lru');
    });

    afterAll(() => careless?.close());

    it('names the right that a user lacks, who cannot listen at all', async () => {
      const client = createClient({ url: careless.url() });
      await client.connect();
      await client.sendCommand(['ACL', 'SETUSER', 'blind', 'on', '>S3CRET', '~*', '+@all', '-psubscribe']);
      client.destroy();
      const examined = await examine(careless.url().replace('//', '//blind:S3CRET@'));
      expect(examined.text).toContain('→ Run ACL SETUSER <user> +ping +psubscribe &/0.celeryev/*');
      expect([examined.code, examined.text]).toEqual([1, expect.not.stringContaining('S3CRET')]);
    });

    it.each([
      ['nothing listens', 'redis://user:S3CRET@127.0.0.1:1/0'],
      ['the password is wrong', 'redis://user:S3CRET@127.0.0.1:PORT/0'],
    ])('cannot connect where %s', async (_, url) => {
      const examined = await examine('--json', url.replace('PORT', String(careless.port)));
      const { ok, checks } = reportOf(examined);
      expect([examined.code, ok]).toEqual([2, false]);
      expect(checks.at(-1)).toMatchObject({ code: 'source_down', level: 'critical' });
      expect(examined.text).not.toContain('S3CRET');
    });

    it('ends where nothing answers', async ({ onTestFinished }) => {
      const frozen = await startRedis();
      onTestFinished(() => frozen.close());
      frozen.freeze();
      expect((await examine('--bullmq', frozen.url())).code).toBe(2);
    });

    it('finds nothing wrong with BullMQ on a Redis that keeps its jobs', async ({ onTestFinished }) => {
      const app: BullMQApp = await startBullMQ(bullmq);
      onTestFinished(() => app.close());
      const worker = app.worker('mail', async () => null, { name: 'mailer' });
      await worker.waitUntilReady();
      await app.queue('mail').add('send', {});
      const examined = await examine('--bullmq', '--json', '--seconds', '5', app.redis.url());
      expect(problemsIn(reportOf(examined))).toEqual([]);
      expect(examined.code).toBe(0);
    });

    it('says that BullMQ may lose jobs, and what to change', async () => {
      const examined = await examine('--bullmq', '--json', '--seconds', '5', careless.url(1));
      expect(problemsIn(reportOf(examined))).toContainEqual({
        code: 'eviction_policy',
        level: 'warning',
        summary: expect.stringContaining('jobs with them.'),
        change: expect.stringMatching(/^Run CONFIG SET maxmemory-policy noeviction/),
      });
      expect(examined.code).toBe(1);
    });
  },
);
