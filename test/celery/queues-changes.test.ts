import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { context, type Lab, messageOf, openLab, queryOf, waiting, walkPages } from './queues-lab.ts';

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'tasks that wait while things change'),
  () => {
    let redis: RedisServer;
    let client: ReturnType<typeof createClient>;
    let lab: Lab | null = null;

    beforeEach(async () => {
      redis = await startRedis();
      client = createClient({ url: redis.url() });
      client.on('error', () => {});
      await client.connect();
    });

    afterEach(async () => {
      await lab?.close();
      lab = null;
      client?.destroy();
      await redis?.close();
    });

    async function open(messages: readonly string[]): Promise<Lab> {
      if (messages.length > 0) await client.lPush('celery', [...messages]);
      lab = openLab(redis.url());
      await lab.queues.ready();
      return lab;
    }

    const heard = (id: string, more: Partial<TaskChange> = {}): TaskChange => ({
      id,
      type: 'received',
      time: Date.UTC(2026, 10, 21) + Number(id.replace(/\D/g, '')),
      origin: 'event',
      worker: 'w@h',
      name: 'yard.known',
      ...more,
    });

    it('change the revision when they come and go, and tell when they become overdue', async () => {
      const eta = Date.now() + 3_600_000;
      const { tasks, queues } = await open([]);
      const revision = (): unknown => tasks.status?.().revision;
      let before = revision();
      expect(tasks.status?.().changesAt).toBeNull();
      await client.lPush('celery', waiting('a', { eta: new Date(eta).toISOString() }));
      await until(() => revision() !== before);
      expect(tasks.status?.().changesAt).toEqual(new Date(eta));
      expect(queues.depths()).toEqual([{ name: 'celery', waiting: 1, reserved: 0, consumers: null }]);
      before = revision();
      await client.multi().rPop('celery').lPush('celery', waiting('b')).exec();
      await until(() => revision() !== before);
      expect((await walkPages(tasks, {})).map(({ id }) => id)).toEqual(['b']);
      before = revision();
      await client.del('celery');
      await until(() => revision() !== before);
      expect(await walkPages(tasks, {})).toEqual([]);
    });

    it('go on being shown while Redis is away', async () => {
      const { tasks, queues } = await open([waiting('a'), waiting('b')]);
      await client.lPush(
        'other',
        Array.from({ length: 3 }, (_, at) => messageOf(`o${at}`)),
      );
      await redis.kill();
      await until(() => queues.problem() !== null);
      expect(queues.holds('a')).toBeNull();
      const page = await tasks.listTasks(queryOf(), context);
      expect(page.tasks.map(({ id }) => id)).toEqual(['a', 'b']);
      expect(await tasks.getTask('a', context)).not.toBeNull();
      await redis.start();
      await until(() => queues.problem() === null);
      expect(queues.holds('a')).toBe(false);
      expect(await walkPages(tasks, {})).toEqual([]);
    });

    it('go on being shown while Redis is away, of queues that are too long to copy', async () => {
      const many = Array.from({ length: 10_001 }, (_, at) => messageOf(`m${at}`));
      const { tasks, queues, history } = await open(many);
      history.writer.recordTask(heard('known1'));
      expect((await tasks.listTasks(queryOf({ limit: 10 }), context)).tasks).toHaveLength(10);
      await redis.kill();
      const page = await tasks.listTasks(queryOf({ limit: 10 }), context);
      expect(page.tasks.map(({ id }) => id)).toEqual([
        'known1',
        ...Array.from({ length: 9 }, (_, at) => `m${at}`),
      ]);
      expect(page.total).toBeNull();
      expect((await tasks.getTask('m9999', context))?.state).toBe('PENDING');
      expect(await tasks.getTask('m5000', context)).toBeNull();
      await until(() => queues.problem() !== null);
      expect(queues.holds('m1')).toBeNull();
    });

    it('are not told where the Redis user may not see them', async () => {
      await client.lPush('celery', waiting('a'));
      await client.lPush('secret', waiting('b'));
      await client.sAdd(
        '_kombu.binding.celery',
        ['celery', 'secret'].map((name) => `${name}\x06\x16\x06\x16${name}`),
      );
      const rules = [
        'on',
        '>pw',
        '%R~celery*',
        '%R~_kombu*',
        '%R~unacked*',
        '+@read',
        '+ping',
        '+select',
        '+info',
      ];
      await client.sendCommand(['ACL', 'SETUSER', 'half', ...rules]);
      lab = openLab(redis.url().replace('redis://', 'redis://half:pw@'));
      await lab.queues.ready();
      expect(lab.queues.problem()).toMatchObject({ code: 'NOPERM' });
      expect(lab.queues.depths()).toEqual([
        { name: 'celery', waiting: 1, reserved: 0, consumers: null },
        { name: 'secret', waiting: null, reserved: 0, consumers: null },
      ]);
      expect(lab.queues.holds('b')).toBeNull();
      const page = await lab.tasks.listTasks(queryOf(), context);
      expect(page).toMatchObject({ tasks: [{ id: 'a' }], total: null });
    });
  },
);
