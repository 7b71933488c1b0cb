import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { LEAST, useRabbitLab } from './amqp-lab.ts';
import { controlError, untilResponding } from './control-lab.ts';

const missing = rabbitMissing ?? celeryMissing;

const context = { signal: new AbortController().signal, ping: true };

/** Workers of every kind of pool, by the queue that they consume. */
const WORKERS = { 'prefork@a': 'q0', 'threads@b': 'q1', 'solo@c': 'q2' };
const NAMES = Object.keys(WORKERS).sort();

function startWorkers(app: CeleryApp, ...more: string[]): Promise<CeleryWorker[]> {
  return Promise.all(
    Object.entries(WORKERS).map(([name, queue]) =>
      app.plainWorker('-n', name, '-P', name.split('@', 1)[0] ?? '', '-c', '2', '-Q', queue, ...more),
    ),
  );
}

describe.skipIf(missing !== null)(titleUnless(missing, 'running workers on RabbitMQ'), () => {
  describe.each([
    { title: 'as Celery comes' },
    { title: 'with an exchange of its own', control_exchange: 'ctl' },
  ])('$title', ({ title: _title, ...settings }) => {
    const lab = useRabbitLab();

    it('answer every request that can be sent, stay at work, and find nothing left behind', async () => {
      const broker_url = lab.rabbit().url(lab.virtualHost());
      const app = celeryApp({ broker_url, task_ignore_result: true, ...settings });
      lab.later(() => app.close());
      const workers = await startWorkers(app);
      const pids = new Set<unknown>();
      // Each source asks everything that there is, also at once.
      for (let round = 0; round < 3; round += 1) {
        const sources = await lab.open({ settings, enableEvents: true });
        await until(async () => {
          const listed = await sources.workers.listWorkers(context);
          return (
            listed.length === 3 &&
            listed.every(({ pid, registeredTasks }) => pid != null && registeredTasks != null)
          );
        });
        await untilResponding(sources, ...NAMES);
        const listed = await sources.workers.listWorkers(context);
        expect(listed.map(({ hostname }) => hostname).sort()).toEqual(NAMES);
        for (const { pid } of listed) pids.add(pid);
        expect(await controlError(sources)).toBeNull();
        await until(() => workers.every((worker) => worker.output().includes('enabled by remote')));
        await sources.close();
      }
      expect(pids.size).toBe(3);
      expect((await lab.names('queues')).filter((name) => name.startsWith('express'))).toEqual([]);
      await app.send(...Object.values(WORKERS).map((queue) => ({ name: 'shop.add', args: [1, 2], queue })));
      for (const worker of workers) await until(() => worker.output().includes('succeeded'));
      expect(workers.map((worker) => worker.output()).join('')).not.toMatch(/CRITICAL|ERROR|Traceback/);
    }, 120_000);
  });

  describe('seen by a user with the least rights', () => {
    let rabbit: Rabbit;
    let virtualHost: string;
    let app: CeleryApp;
    let sources: CelerySources;

    beforeAll(async () => {
      rabbit = await sharedRabbit();
      virtualHost = await rabbit.createVirtualHost();
      const user = `least-${virtualHost}`;
      await rabbit.createUser(user, virtualHost, LEAST);
      app = celeryApp({
        broker_url: rabbit.url(virtualHost),
        task_ignore_result: true,
        task_send_sent_event: true,
      });
      await startWorkers(app, '-E');
      sources = celerySources({ broker: rabbit.url(virtualHost, user) });
      await until(() => sources.tasks.status?.().ok === true);
    }, 120_000);

    afterAll(async () => {
      await sources?.close();
      await app?.close();
    });

    it('have their pools, queues and tasks, and answer a ping', async () => {
      await until(async () => {
        const workers = await sources.workers.listWorkers(context);
        return workers.length === 3 && workers.every(({ registeredTasks }) => registeredTasks != null);
      });
      const workers = await sources.workers.listWorkers(context);
      expect(workers.map(({ hostname, pool, queues }) => ({ hostname, pool, queues }))).toEqual(
        NAMES.map((name) => ({
          hostname: name,
          pool: name.split('@', 1)[0],
          queues: [WORKERS[name as keyof typeof WORKERS]],
        })),
      );
      for (const { registeredTasks } of workers) expect(registeredTasks).toContain('shop.add');
      expect(await sources.health.checkWorkers?.(context)).toMatchObject({
        ok: true,
        responding: NAMES,
        missing: [],
      });
    });

    const queue = async (name: string) =>
      (await sources.queues.listQueues(context))?.find((row) => row.name === name) ?? null;

    /** The number of messages as RabbitMQ tells it: from 4.3 on, only to a user with any right to the queue. */
    async function told(waiting: number): Promise<number | null> {
      const { version } = (await componentOf(sources, 'broker')).config;
      const [major = 0, minor = 0] = String(version).split('.').map(Number);
      return major > 4 || (major === 4 && minor >= 3) ? null : waiting;
    }

    it('have their queues, with counts up to RabbitMQ 4.2', async () => {
      await until(async () => (await queue('q2'))?.consumers === 1);
      expect(await queue('q2')).toMatchObject({ waiting: await told(0), reserved: null });
    });

    it('leave tasks waiting, which are listed and counted', async () => {
      const calls = Array.from({ length: 12 }, () => ({ name: 'shop.slow', args: [4], queue: 'q0' }));
      await app.send(...calls, { name: 'shop.add', args: [1, 2], queue: 'nobody' });
      const left = await told(2);
      // Two run, which are acknowledged, and four times as many are prefetched.
      await until(async () => (await queue('q0'))?.waiting === left);
      expect(await queue('q0')).toMatchObject({ reserved: null, consumers: 1 });
      await until(async () => (await queue('nobody'))?.waiting === (await told(1)));
      const list = async () => sources.tasks.listTasks(queryOf({ limit: 100 }), context);
      await until(async () => (await list()).total === 13);
      const { tasks } = await list();
      expect(tasks.find((task) => task.queue === 'nobody')).toMatchObject({
        state: 'PENDING',
        name: 'shop.add',
      });
      expect(tasks.filter((task) => task.queue === 'q0')).toHaveLength(12);
      const hints = await Promise.all(
        ['broker', 'collector'].map(async (key) => (await componentOf(sources, key)).config.hints),
      );
      expect(hints).toEqual([[], []]);
    });

    it('have nothing of the monitor left in the broker when it is closed', async () => {
      await sources.close();
      const left = await rabbit.queues(virtualHost);
      expect(left.filter(({ name }) => name.startsWith('express-task-monitor'))).toEqual([]);
    });
  });

  it('that get tasks from clients without sent events make a hint name the setting', async () => {
    const rabbit = await sharedRabbit();
    const virtualHost = await rabbit.createVirtualHost();
    const app = celeryApp({ broker_url: rabbit.url(virtualHost), task_ignore_result: true });
    const sources = celerySources({ broker: rabbit.url(virtualHost) });
    try {
      await app.send({ name: 'shop.add', args: [1, 2] });
      await until(async () => {
        const { hints } = (await componentOf(sources, 'collector')).config;
        return String(hints).includes('Set task_send_sent_event = True');
      });
    } finally {
      await sources.close();
      await app.close();
    }
  });
});
