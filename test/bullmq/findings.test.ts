import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { RULES } from '../../src/findings/evaluate.ts';
import { tasksMissing } from '../../src/findings/rules/open-tasks.ts';
import { storeBehind } from '../../src/findings/rules/store-behind.ts';
import type { ComponentBody, ComponentsBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const MINUTE = 60_000;

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'findings about $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let redis: Redis;

    beforeEach(async () => {
      app = await startBullMQ(bullmq);
      redis = new Redis(app.redis.port, '127.0.0.1');
    });
    afterEach(async () => {
      redis.disconnect();
      await app.close();
    });

    /** What a monitor that has just started finds. */
    async function look(...queues: Queue[]): Promise<Required<ComponentBody>> {
      const sources = bullmqSources({ queues });
      const { get } = await serve(EXPRESS, { sources });
      return (await get<ComponentsBody>('/api/components/')).body.findings as Required<ComponentBody>;
    }

    /** The rules that could not judge everything, and why. */
    const unknownOf = ({ rules }: Required<ComponentBody>): Record<string, string | null> =>
      Object.fromEntries(rules.flatMap(({ code, reason }) => (reason === null ? [] : [[code, reason]])));

    /** Jobs that end as their data says. */
    const run = async (job: { data: unknown }): Promise<string> => {
      if ((job.data as { fail?: boolean }).fail) throw new Error('no');
      return 'done';
    };
    const many = (count: number, name: string, data: object = {}, opts: object = {}) =>
      Array.from({ length: count }, () => ({ name, data, opts }));

    it('are none where all is well, and every rule has looked', async () => {
      const [mail, image] = [app.queue('mail'), app.queue('image')];
      app.worker(mail.name, run, { name: 'ann' });
      app.worker(image.name, run);
      await mail.addBulk(many(60, 'send'));
      await image.addBulk(many(30, 'scale', {}, { removeOnComplete: true }));
      await mail.add('later', {}, { delay: 3_600_000 });
      await mail.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' }, { name: 'report' });
      await app.settled(mail, 0, 'waiting', 'active');
      await app.settled(image, 0, 'waiting', 'active');
      const component = await look(mail, image);
      expect(unknownOf(component)).toEqual({});
      expect(component.findings).toEqual([]);
      // A job is always found, and no history is kept in a store.
      const others = RULES.filter((rule) => rule !== tasksMissing && rule !== storeBehind);
      expect(component.rules.map(({ code }) => code)).toEqual([
        'source_down',
        ...others.map(({ code }) => code),
      ]);
    });

    it('count failures by name, also of jobs that are gone, and no parent for its child', async () => {
      const [mail, image] = [app.queue('mail'), app.queue('image')];
      app.worker(mail.name, run);
      app.worker(image.name, run);
      await mail.addBulk([
        ...many(40, 'send', {}, { removeOnComplete: true }),
        ...many(10, 'send', { fail: true }, { removeOnFail: true }),
        ...many(40, 'fine'),
      ]);
      const flow = app.flow();
      for (let at = 0; at < 5; at++) {
        const children = [
          { name: 'child', queueName: 'image', data: { fail: true }, opts: { failParentOnFailure: true } },
        ];
        await flow.add({ name: 'parent', queueName: 'image', children } as never);
      }
      await app.settled(image, 10, 'failed');
      await app.settled(mail, 0, 'waiting', 'active');
      const { findings } = await look(mail, image);
      const rates = findings.filter(({ code }) => code === 'failure_rate');
      expect(rates.map(({ subject, evidence }) => [subject, evidence.failed, evidence.ended])).toEqual([
        ['send', 10, 50],
        ['child', 5, 5],
      ]);
    });

    it('read what the streams have dropped from the jobs that are kept', async () => {
      const queue = app.queue('mail');
      const worker = app.worker(queue.name, run);
      await queue.addBulk([...many(80, 'send'), ...many(20, 'send', { fail: true })]);
      await app.settled(queue, 100, 'completed', 'failed');
      await worker.close();
      await redis.xtrim('bull:mail:events', 'MAXLEN', '10');
      const young = await look(queue);
      expect(young.findings.filter(({ code }) => code !== 'workers_silent')).toMatchObject([
        { code: 'failure_rate', subject: 'send', evidence: { failed: 20, ended: 100 } },
      ]);
      expect(Object.keys(unknownOf(young))).toEqual(['failure_rate']);
      // A job of two hours ago shows that the queue keeps what has ended since.
      const [first] = await redis.zrange('bull:mail:completed', '0', '0');
      await redis.zadd('bull:mail:completed', String(Date.now() - 120 * MINUTE), String(first));
      expect(unknownOf(await look(queue))).toEqual({});
      // One that it has not kept shows that there may have been others.
      const [last = ''] = await redis.zrevrange('bull:mail:failed', '0', '0');
      await redis.zrem('bull:mail:failed', last);
      await redis.del(`bull:mail:${last}`);
      expect(Object.keys(unknownOf(await look(queue)))).toEqual(['failure_rate']);
    });

    it('are workers that hold the same jobs while others wait', async () => {
      const queue = app.queue('mail');
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      app.worker(queue.name, () => ended, { concurrency: 2 });
      await queue.addBulk(many(5, 'slow'));
      await app.settled(queue, 2, 'active');
      expect((await look(queue)).findings).toEqual([]);
      for (const { id } of await queue.getActive()) {
        await redis.hset(`bull:mail:${id}`, 'processedOn', Date.now() - 20 * MINUTE);
      }
      const { findings } = await look(queue);
      expect(findings).toMatchObject([
        {
          code: 'worker_stuck',
          severity: 'warning',
          subject: 'mail',
          summary: 'Queue mail: all workers hold the same tasks, 20 min, and 3 tasks wait',
          evidence: { slots: 2, names: ['slow'], waiting: 3 },
        },
      ]);
      end();
    });

    it('are jobs that run far beyond what is usual', async () => {
      const queue = app.queue('mail');
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      app.worker(queue.name, async (job) => (job.data.wait ? ended : undefined), { concurrency: 2 });
      await queue.addBulk(many(30, 'send'));
      await app.settled(queue, 30, 'completed');
      const job = await queue.add('send', { wait: true });
      await app.settled(queue, 1, 'active');
      await redis.hset(`bull:mail:${job.id}`, 'processedOn', Date.now() - 10 * MINUTE);
      const component = await look(queue);
      expect(component.findings).toMatchObject([
        { code: 'task_overrun', subject: 'send', evidence: { tasks: 1, task_ids: [`mail:${job.id}`] } },
      ]);
      expect(unknownOf(component)).toEqual({});
      end();
    });

    it('are jobs whose worker is gone, and delayed ones that nobody moves', async () => {
      const queue = app.queue('mail');
      const worker = app.worker(queue.name, () => new Promise(() => {}), { name: 'ann' });
      const job = await queue.add('send', {});
      const late = await queue.add('later', {}, { delay: 1_000 });
      await app.settled(queue, 1, 'active');
      await worker.close(true);
      await redis.del(`bull:mail:${job.id}:lock`);
      await redis.zadd('bull:mail:delayed', (Date.now() - 12 * MINUTE) * 4_096, String(late.id));
      await until(async () => (await look(queue)).findings.some(({ code }) => code === 'workers_silent'));
      const { findings } = await look(queue);
      const found = Object.fromEntries(findings.map((finding) => [finding.code, finding]));
      expect(Object.keys(found).toSorted()).toEqual([
        ...['queue_waiting', 'tasks_lost', 'tasks_overdue', 'workers_silent'],
      ]);
      expect(found.tasks_lost).toMatchObject({
        severity: 'critical',
        subject: 'ann',
        evidence: { tasks: 1, task_ids: [`mail:${job.id}`] },
      });
      expect(found.tasks_overdue).toMatchObject({ evidence: { tasks: 1, task_ids: [`mail:${late.id}`] } });
    });
  },
);
