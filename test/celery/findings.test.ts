import { describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { ComponentBody, ComponentsBody } from '../../src/wire.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const missing = redisMissing ?? celeryMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'the rules on a running Celery'), () => {
  it('look at all but what needs an hour, and find that the last worker has left', async () => {
    const redis = await startRedis();
    const settings = { broker_url: redis.url(0), result_backend: redis.url(1), task_send_sent_event: true };
    const app = celeryApp(settings);
    onTestFinished(async () => {
      await app.close();
      await redis.kill();
    });
    const sources = celerySources({ broker: redis.url(0), backend: redis.url(1), settings });
    const host = await serve(EXPRESS, { sources });
    const findings = async (): Promise<Required<Pick<ComponentBody, 'findings' | 'rules'>>> =>
      (await host.get<ComponentsBody>('/api/components/')).body.findings as Required<ComponentBody>;
    const reasonOf = async (code: string) =>
      (await findings()).rules.find((rule) => rule.code === code)?.reason;

    expect(await reasonOf('failure_rate')).toEqual(expect.any(String));
    const worker = await app.worker('--concurrency', '2', '-n', 'w1@test');
    await app.send({ name: 'shop.add', args: [1, 2] }, { name: 'shop.add', args: [3, 4] });
    await until(async () => (await reasonOf('failure_rate')) === 'It needs data from the previous hour.');
    await until(async () => (await reasonOf('worker_stuck')) === null);
    const { rules, findings: found } = await findings();
    const unknown = rules.flatMap(({ code, status }) => (status === 'unknown' ? code : []));
    expect(unknown).toEqual(['failure_rate']);
    expect(found).toEqual([]);

    await worker.stop();
    await until(async () => (await findings()).findings.some(({ code }) => code === 'workers_silent'));
    expect((await findings()).findings).toMatchObject([
      { code: 'workers_silent', severity: 'critical', source: 'celery', evidence: { workers: ['w1@test'] } },
    ]);
  }, 120_000);
});
