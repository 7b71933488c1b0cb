/** A real Celery whose tasks run twice, and whose workers are killed: on purpose, and not at all. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import type { ComponentBody, ComponentsBody, FindingBody, TaskBody } from '../../src/wire.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const missing = redisMissing ?? celeryMissing;

/** A deployment, and what the API says about it. */
async function deploy(own: CelerySettings, broker?: string) {
  const redis = await startRedis();
  const settings = { broker_url: broker ?? redis.url(0), result_backend: redis.url(1), ...own };
  const app = celeryApp(settings);
  const sources = celerySources({ settings });
  onTestFinished(async () => {
    await app.close();
    await redis.kill();
  });
  const host = await serve(EXPRESS, { sources });
  await until(() => sources.tasks.status?.().ok === true);
  const judged = async (): Promise<Required<Pick<ComponentBody, 'findings' | 'rules'>>> =>
    (await host.get<ComponentsBody>('/api/components/')).body.findings as Required<ComponentBody>;
  return {
    app: app as CeleryApp,
    judged,
    components: async () => (await host.get<ComponentsBody>('/api/components/')).body,
    find: async (code: string): Promise<FindingBody | undefined> =>
      (await judged()).findings.find((finding) => finding.code === code),
    tasks: async () => (await host.get<{ tasks: TaskBody[] }>('/api/tasks/?limit=1000')).body.tasks,
  };
}

describe.skipIf(missing !== null)(titleUnless(missing, 'a task of a running Celery'), () => {
  it('has run twice when Redis delivered it again while it ran', { timeout: 180_000 }, async () => {
    const { app, find, tasks, components } = await deploy({
      ...{ task_acks_late: true, worker_prefetch_multiplier: 1 },
      broker_transport_options: { visibility_timeout: 2 },
    });
    await app.worker('-c', '1', '-n', 'w1@test');
    await app.send({ name: 'shop.slow', args: [15] });
    // A worker gives back what is held for too long when it starts, and then every 100 s.
    const hasRun = async () =>
      (await tasks()).some(({ started }) => Date.now() - Date.parse(started ?? '') > 3_000);
    await until(hasRun, 30_000);
    await app.worker('-c', '1', '-n', 'w2@test');
    await until(async () => (await find('task_ran_twice')) !== undefined, 60_000);
    const finding = await find('task_ran_twice');
    expect(finding).toMatchObject({
      severity: 'warning',
      subject: 'shop.slow',
      look: '/api/tasks/?name=shop.slow',
    });
    expect(finding?.evidence).toMatchObject({
      tasks: 1,
      workers: expect.arrayContaining(['w1@test', 'w2@test']),
    });
    expect(finding?.evidence.overlap_seconds).toBeGreaterThan(1);
    const [task] = await tasks();
    expect(task?.flags).toEqual(['ran_twice']);
    const hints = Object.values(await components()).flatMap(({ config }) => config?.hints ?? []);
    expect(hints).toContainEqual(expect.stringContaining('visibility_timeout'));
  });

  it('has not where it was retried, replaced, rejected, restarted, or merely received twice', {
    timeout: 180_000,
  }, async () => {
    const { app, judged, tasks } = await deploy({ task_acks_late: true });
    const first = await app.worker('-c', '2', '-n', 'w1@test');
    await app.send(
      { name: 'shop.again', args: [3, 0, 0] },
      { name: 'shop.flaky', args: [2] },
      { name: 'shop.replaced', args: [1] },
      { name: 'shop.rejected_once', args: [] },
      { name: 'shop.fail', args: [] },
      ...Array.from({ length: 200 }, (_, index) => ({ name: 'shop.add', args: [index, 1] })),
      ...Array.from({ length: 8 }, () => ({ name: 'shop.slow', args: [1] })),
    );
    await until(async () => (await tasks()).filter(({ state }) => state === 'SUCCESS').length > 100, 60_000);
    await first.stop();
    await app.worker('-c', '2', '-n', 'w1@test');
    // What comes last in the queue ends last.
    await app.send(...Array.from({ length: 10 }, () => ({ name: 'shop.total', args: [[1]] })));
    const isLast = ({ name, state }: TaskBody) => name === 'shop.total' && state === 'SUCCESS';
    await until(async () => (await tasks()).filter(isLast).length === 10, 60_000);
    // What the first worker had put back may come later than that.
    await until(async () => (await judged()).findings.every(({ code }) => code !== 'tasks_lost'), 60_000);
    const { findings, rules } = await judged();
    expect(rules.find(({ code }) => code === 'task_ran_twice')).toMatchObject({ status: 'clear' });
    expect(rules.find(({ code }) => code === 'tasks_lost')).toMatchObject({ status: 'clear' });
    expect(findings).toEqual([]);
    expect((await tasks()).flatMap(({ flags }) => flags)).not.toContain('ran_twice');
  });
});

describe.skipIf(missing !== null || rabbitMissing !== null)(
  titleUnless(missing ?? rabbitMissing, 'a task whose worker lost its connection to RabbitMQ'),
  () => {
    it('has run twice when it is acknowledged late', { timeout: 180_000 }, async () => {
      const rabbit = await startRabbit();
      onTestFinished(() => rabbit.close());
      const settings = { task_acks_late: true, task_send_sent_event: true };
      const { app, find, tasks } = await deploy(settings, rabbit.url('/'));
      await app.worker('-c', '2', '-n', 'w1@test');
      await app.send({ name: 'shop.slow', args: [20] });
      await until(async () => (await tasks()).some(({ state }) => state === 'STARTED'), 30_000);
      await rabbit.control('close_all_connections', 'test');
      await until(async () => (await find('task_ran_twice')) !== undefined, 120_000);
      expect(await find('task_ran_twice')).toMatchObject({
        ...{ subject: 'shop.slow', evidence: { tasks: 1, workers: ['w1@test'] } },
      });
      expect((await tasks())[0]?.flags).toEqual(['ran_twice']);
    });
  },
);

describe.skipIf(missing !== null)(titleUnless(missing, 'the killed processes of a running Celery'), () => {
  it('name the task that ran at each of them, among others that ran more', { timeout: 240_000 }, async () => {
    const { app, find } = await deploy({});
    await app.worker('-c', '8', '-n', 'w1@test');
    const others = Array.from({ length: 60 }, (_, index) => ({
      name: index % 2 === 0 ? 'shop.slow' : 'shop.again',
      args: index % 2 === 0 ? [6] : [0, 0, 6],
    }));
    const killed = Array.from({ length: 4 }, () => ({ name: 'shop.killed', args: [] }));
    await app.send(...others.slice(0, 30), ...killed, ...others.slice(30));
    await until(async () => (await find('tasks_lost')) !== undefined, 200_000);
    const finding = await find('tasks_lost');
    expect(finding).toMatchObject({ severity: 'warning', subject: 'shop.killed' });
    expect(finding?.evidence.suspects).toEqual([
      {
        name: 'shop.killed',
        deaths: expect.any(Number),
        share: expect.any(Number),
        chance: expect.any(Number),
      },
    ]);
  });
});
