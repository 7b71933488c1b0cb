import { once } from 'node:events';
import * as bullmq from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { pack } from '../packaging/packed.ts';
import { runCommand } from './run-command.ts';

/** Sends tasks until it is ended. */
const SEND = `
import time, shop
while True:
    shop.add.delay(1, 2)
    time.sleep(0.1)
`;

interface Examined {
  readonly code: number;
  readonly text: string;
}

async function examine(...words: readonly string[]): Promise<Examined> {
  const { child, printed } = runCommand(['redis', 'ioredis'], ['doctor', ...words]);
  const [code] = (await once(child, 'close')) as [number];
  return { code, text: printed() };
}

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { code: string; level: string; summary: string; change?: string }[];
}

const reportOf = ({ text }: Examined): Report => JSON.parse(text) as Report;

/** What is wrong. */
const problemsIn = ({ checks }: Report): unknown[] =>
  checks.filter(({ level }) => level !== 'ok' && level !== 'unknown');

// They mostly wait: each look takes seconds.
describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'express-task-monitor doctor'),
  { concurrent: true, timeout: 180_000 },
  () => {
    let careless: RedisServer;
    const apps: CeleryApp[] = [];

    beforeAll(async () => {
      // Blocks for a second, in which no client of these tests must wait.
      pack();
      careless = await startRedis('--maxmemory-policy', 'allkeys-lru');
    });

    afterAll(async () => {
      await Promise.all(apps.map((app) => app.close()));
      await careless?.close();
    });

    /** An app whose clients send tasks all the time. */
    function shopOn(url: string): CeleryApp {
      const app = celeryApp({
        ...{ broker_url: url, result_backend: url },
        ...{ task_send_sent_event: true, result_extended: true },
      });
      apps.push(app);
      app.script('-c', SEND).catch(() => {});
      return app;
    }

    describe.skipIf(celeryMissing)(titleUnless(celeryMissing, 'with Celery'), { concurrent: true }, () => {
      it('finds nothing where all is well', async ({ onTestFinished }) => {
        const redis = await startRedis();
        onTestFinished(() => redis.close());
        await shopOn(redis.url()).worker('-c', '1');
        const examined = await examine('--json', '--backend', redis.url(), redis.url());
        const report = reportOf(examined);
        expect(problemsIn(report)).toEqual([]);
        expect([examined.code, report.ok]).toEqual([0, true]);
        expect(report.checks).toEqual(
          expect.arrayContaining(
            ['celery.broker', 'celery.backend', 'celery.collector', 'celery.control', 'workers_silent'].map(
              (code) => expect.objectContaining({ code, level: 'ok' }),
            ),
          ),
        );
      });

      it('says what to change where events are off and Redis may drop tasks', async () => {
        await shopOn(careless.url()).plainWorker('-c', '1', '-n', 'quiet@gamma');
        const { code, text } = await examine('--backend', careless.url(), careless.url());
        expect(text).toMatch(
          /^warning {3}Worker quiet@gamma runs tasks but sends no events about them\. \[events_off\]\n {10}→ Start it with -E or set worker_send_task_events = True/m,
        );
        expect(text).toMatch(
          /^warning {3}Redis drops keys .*allkeys-lru.* \[eviction_policy\]\n {10}→ Run CONFIG SET maxmemory-policy noeviction/m,
        );
        expect([code, text]).toEqual([1, expect.stringMatching(/^2 problems\.$/m)]);
      });
    });

    it('says why no worker is heard, if it is told the wrong database', async ({ onTestFinished }) => {
      const redis = await startRedis();
      onTestFinished(() => redis.close());
      const client = createClient({ url: redis.url(5) });
      await client.connect();
      await client.sendCommand(['SADD', '_kombu.binding.celery', 'celery\u0006\u0016\u0006\u0016celery']);
      client.destroy();
      const { code, text } = await examine('--seconds', '5', '--backend', redis.url(6), redis.url(6));
      expect([code, text]).toEqual([1, expect.stringMatching(/ → Write broker: .*\/5/)]);
      expect(text).toContain('[workers_silent]');
    });

    it('names the right that a user lacks, who cannot listen at all', async () => {
      const client = createClient({ url: careless.url() });
      await client.connect();
      await client.sendCommand(['ACL', 'SETUSER', 'blind', 'on', '>S3CRET', '~*', '+@all', '-psubscribe']);
      client.destroy();
      const examined = await examine(careless.url().replace('//', '//blind:S3CRET@'));
      expect(examined.text).toContain('→ Run ACL SETUSER <user> +ping +psubscribe &/0.celeryev/*');
      expect([examined.code, examined.text]).toEqual([1, expect.not.stringContaining('S3CRET')]);
    });

    describe.skipIf(rabbitMissing)(titleUnless(rabbitMissing, 'with RabbitMQ'), () => {
      let rabbit: Rabbit;

      beforeAll(async () => {
        rabbit = await sharedRabbit();
      });

      it('says early what it has seen when it is told to end, and leaves nothing there', async () => {
        const virtualHost = await rabbit.createVirtualHost();
        const { child, printed } = runCommand(['amqplib'], ['doctor', '--json', rabbit.url(virtualHost)]);
        const list = (what: string) => rabbit.manage<unknown[]>('GET', `${what}/${virtualHost}`);
        await until(async () => (await list('consumers')).length > 0);
        child.kill('SIGINT');
        const [code] = await once(child, 'close');
        const { checks } = reportOf({ code, text: printed() });
        expect(checks).toContainEqual(expect.objectContaining({ code: 'celery.broker', level: 'ok' }));
        expect([code, checks.at(-1)?.code]).toEqual([1, 'workers_silent']);
        await until(async () => (await list('queues')).length === 0);
      });
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
