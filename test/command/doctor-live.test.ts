import { once } from 'node:events';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { examine, problemsIn, reportOf } from './examine.ts';
import { runCommand } from './run-command.ts';

const missing = redisMissing ?? celeryMissing;

/** Sends tasks until it is ended. */
const SEND = `
import time, shop
while True:
    shop.add.delay(1, 2)
    time.sleep(0.1)
`;

describe('express-task-monitor doctor, with Celery', { timeout: 180_000 }, () => {
  /** Ends with the test. */
  async function ownRedis(...args: readonly string[]): Promise<RedisServer> {
    const redis = await startRedis(...args);
    onTestFinished(() => redis.close());
    return redis;
  }

  /** An app whose clients send tasks all the time. */
  function shopOn(url: string): CeleryApp {
    const app = celeryApp({
      ...{ broker_url: url, result_backend: url },
      ...{ task_send_sent_event: true, result_extended: true },
    });
    onTestFinished(() => app.close());
    app.script('-c', SEND).catch(() => {});
    return app;
  }

  it.skipIf(missing)(titleUnless(missing, 'finds nothing where all is well'), async () => {
    const redis = await ownRedis();
    await shopOn(redis.url()).worker('-c', '1');
    const examined = await examine('--json', '--seconds', '20', '--backend', redis.url(), redis.url());
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

  it.skipIf(missing)(
    titleUnless(missing, 'says what to change where events are off and Redis may drop tasks'),
    async () => {
      const careless = await ownRedis('--maxmemory-policy', 'allkeys-lru');
      await shopOn(careless.url()).plainWorker('-c', '1', '-n', 'quiet@gamma');
      const { code, text } = await examine('--seconds', '20', '--backend', careless.url(), careless.url());
      expect(text).toMatch(
        /^warning {3}Worker quiet@gamma runs tasks but sends no events about them\. \[events_off\]\n {10}→ Start it with -E or set worker_send_task_events = True/m,
      );
      expect(text).toMatch(
        /^warning {3}Redis drops keys .*allkeys-lru.* \[eviction_policy\]\n {10}→ Run CONFIG SET maxmemory-policy noeviction/m,
      );
      expect([code, text]).toEqual([1, expect.stringMatching(/^2 problems\.$/m)]);
    },
  );

  it.skipIf(redisMissing)(
    titleUnless(redisMissing, 'says why no worker is heard, if it is told the wrong database'),
    async () => {
      const redis = await ownRedis();
      const client = createClient({ url: redis.url(5) });
      await client.connect();
      await client.sendCommand(['SADD', '_kombu.binding.celery', 'celery\u0006\u0016\u0006\u0016celery']);
      client.destroy();
      const { code, text } = await examine('--seconds', '5', '--backend', redis.url(6), redis.url(6));
      expect([code, text]).toEqual([1, expect.stringMatching(/ → Write broker: .*\/5/)]);
      expect(text).toContain('[workers_silent]');
    },
  );

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
      const { checks } = reportOf({ text: printed() });
      expect(checks).toContainEqual(expect.objectContaining({ code: 'celery.broker', level: 'ok' }));
      expect([code, checks.at(-1)?.code]).toEqual([1, 'workers_silent']);
      await until(async () => (await list('queues')).length === 0);
    });
  });
});
