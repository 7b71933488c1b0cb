import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import { combineSources } from '../../src/index.ts';
import type { ComponentsBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'one Redis under Celery and BullMQ'), () => {
  it('is one finding when it dies, and none of the other rules says that all is well', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.kill());
    const sources = combineSources(
      celerySources({ broker: redis.url(0), backend: redis.url(1) }),
      bullmqSources({ connection: redis.url(2) }),
    );
    const host = await serve(EXPRESS, { sources, onError: () => {} });
    const read = async () => (await host.get<ComponentsBody>('/api/components/')).body;
    await until(async () => (await read())['celery.broker']?.status === 'up');
    const statusOf = (body: ComponentsBody, code: string) =>
      body.findings?.rules?.filter((rule) => rule.code === code).map(({ status }) => status);
    await until(async () => statusOf(await read(), 'source_down')?.join() === 'clear');
    await redis.kill();
    await until(async () => statusOf(await read(), 'source_down')?.join() === 'found');
    // A second look, when every part has noticed.
    await until(async () => {
      const { findings } = await read();
      return JSON.stringify(findings?.findings?.[0]?.evidence).includes('bullmq');
    });
    const { findings = [], rules = [] } = (await read()).findings ?? {};
    expect(findings).toMatchObject([{ code: 'source_down', source: null, severity: 'critical' }]);
    expect(findings[0]?.subject).toContain(String(redis.port));
    expect(new Set(rules.slice(1).map(({ status }) => status))).toEqual(new Set(['unknown']));
  });
});
