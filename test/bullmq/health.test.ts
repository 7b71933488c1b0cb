import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { HealthBody, WorkersBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { unsampled } from '../helpers/cases.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the health check over $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      await queue.add('a', {});
    });
    afterAll(() => app?.close());

    it('passes with a worker, fails without one or without Redis, and passes again', async () => {
      const sources = bullmqSources({ queues: [queue] });
      const { get } = await serve(EXPRESS, { sources });
      const check = async () => (await get<HealthBody>('/healthcheck')).body;
      expect(await check()).toMatchObject({
        ok: false,
        checks: {
          broker: { ok: true, error: null },
          backend: { ok: true, error: null },
          workers: { ok: false, error: 'No worker is connected.', responding: [], missing: [] },
        },
      });
      app.worker('mail', async () => 1, { name: 'ann' });
      await until(async () => (await check()).ok);
      expect((await check()).checks.workers).toMatchObject({ ok: true, error: null, responding: ['ann'] });
      await app.redis.kill();
      // Each of the checks is reused for a moment of its own.
      let { checks } = await check();
      await until(async () => {
        checks = (await check()).checks;
        return [checks.broker, checks.backend, checks.workers].every((one) => one?.ok === false);
      });
      expect(checks.broker?.error).toMatch(/Redis/);
      expect(checks.workers).toMatchObject({
        ok: false,
        error: 'Redis cannot be reached, so it is unknown whether workers respond.',
        responding: [],
        missing: [],
      });
      await app.redis.start();
      await until(async () => (await check()).ok, 60_000);
    }, 90_000);
  },
);

unsampled(() => {
  describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the health check of BullMQ'), () => {
    it.each([
      ['a wrong password', ['--requirepass', 'sesame'], 'wrong', 'Redis refuses the user name or password.'],
      ['no password', ['--requirepass', 'sesame'], '', 'Redis requires a password.'],
    ])('tells %s', async (_, args, password, sentence) => {
      const redis = await startRedis(...args);
      const connection = { host: '127.0.0.1', port: redis.port, ...(password && { password }) };
      const sources = bullmqSources({ connection });
      for (const check of [sources.health.checkBroker, sources.health.checkBackend]) {
        expect(await check?.(context)).toEqual({ ok: false, error: sentence });
      }
      sources.close();
      await redis.close();
    });

    it('tells queues that may not be read, and needs no right to ping', async () => {
      const redis = await startRedis();
      const admin = new Redis(redis.port, '127.0.0.1');
      await admin.hset('bull:mail:meta', 'version', 'x');
      await admin.call('ACL', 'SETUSER', 'monitor', 'on', '>pass', '~bull:*', '+scan');
      const sources = bullmqSources({ connection: `redis://monitor:pass@127.0.0.1:${redis.port}` });
      expect(await sources.health.checkBroker?.(context)).toEqual({
        ok: false,
        error: 'The Redis user lacks a right that this monitor needs.',
      });
      await admin.call('ACL', 'SETUSER', 'monitor', '+@read');
      expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
      sources.close();
      admin.disconnect();
      await redis.close();
    });

    it('passes where clients may not be listed, and the list of workers is no empty one', async () => {
      const redis = await startRedis();
      const admin = new Redis(redis.port, '127.0.0.1');
      await admin.hset('bull:mail:meta', 'version', 'x');
      await admin.call('ACL', 'SETUSER', 'monitor', 'on', '>pass', '~bull:*', '+@read', '+ping');
      const sources = bullmqSources({ connection: `redis://monitor:pass@127.0.0.1:${redis.port}` });
      const { get } = await serve(EXPRESS, { sources });
      expect((await get<HealthBody>('/healthcheck')).body).toMatchObject({
        ok: true,
        checks: { broker: { ok: true }, workers: { ok: null, responding: [], missing: [] } },
      });
      expect(await get('/api/workers/')).toMatchObject({ status: 503, body: { code: 'source_unavailable' } });
      await admin.call('ACL', 'SETUSER', 'monitor', '+client|list');
      expect((await get<WorkersBody>('/api/workers/')).body).toMatchObject({
        workers: [],
        sources: [{ name: 'bullmq', ok: true, error: null }],
      });
      admin.disconnect();
      await redis.close();
    });
  });
});
