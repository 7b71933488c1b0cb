import { describe, expect, it } from 'vitest';
import { componentOf } from '../helpers/celery-events.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { useQueueRedis } from './queue-redis.ts';
import { context, heard, messageOf, queryOf, waiting, walkPages } from './queues-lab.ts';

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'tasks that wait while things change'),
  () => {
    const own = useQueueRedis();
    const { open } = own;

    it('change the revision when they come and go, and tell when they become overdue', async () => {
      const eta = Date.now() + 3_600_000;
      const { tasks, queues } = await open([]);
      const revision = (): unknown => tasks.status?.().revision;
      let before = revision();
      expect(tasks.status?.().changesAt).toBeNull();
      await own.client.lPush('celery', waiting('a', { eta: new Date(eta).toISOString() }));
      await until(() => revision() !== before);
      expect(tasks.status?.().changesAt).toEqual(new Date(eta));
      expect(await queues()).toEqual([{ name: 'celery', waiting: 1, reserved: 0, consumers: null }]);
      before = revision();
      await own.client.multi().rPop('celery').lPush('celery', waiting('b')).exec();
      await until(() => revision() !== before);
      expect((await walkPages(tasks, {})).map(({ id }) => id)).toEqual(['b']);
      before = revision();
      await own.client.del('celery');
      await until(() => revision() !== before);
      expect(await walkPages(tasks, {})).toEqual([]);
    });

    it('go on being shown while Redis is away', async () => {
      const { tasks, sources } = await open([waiting('a'), waiting('b')]);
      await own.redis.kill();
      await until(() => sources.queues.status?.().ok === false);
      const page = await tasks.listTasks(queryOf(), context);
      expect(page.tasks.map(({ id }) => id)).toEqual(['a', 'b']);
      expect(await tasks.getTask('a', context)).not.toBeNull();
      await own.redis.start();
      await until(() => sources.queues.status?.().ok === true);
      expect(await walkPages(tasks, {})).toEqual([]);
    });

    it('go on being shown while Redis is away, of queues that are not listed whole', async () => {
      const many = Array.from({ length: 1_201 }, (_, at) => messageOf(`m${at}`));
      const { tasks, sources, hear } = await open(many);
      await hear(heard('known1'));
      expect((await tasks.listTasks(queryOf({ limit: 10 }), context)).tasks).toHaveLength(10);
      await own.redis.kill();
      const page = await tasks.listTasks(queryOf({ limit: 10 }), context);
      expect(page.tasks.map(({ id }) => id)).toEqual([
        'known1',
        ...Array.from({ length: 9 }, (_, at) => `m${at}`),
      ]);
      expect(page.total).toBeNull();
      expect((await tasks.getTask('m1199', context))?.state).toBe('PENDING');
      expect(await tasks.getTask('m1050', context)).toBeNull();
      await until(() => sources.queues.status?.().ok === false);
      expect((await tasks.listTasks(queryOf({ limit: 10 }), context)).total).toBeNull();
    });

    it('are not told where the Redis user may not see them', async () => {
      await own.client.lPush('celery', waiting('a'));
      await own.client.lPush('secret', waiting('b'));
      await own.client.sAdd(
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
        '+psubscribe',
        '&*',
      ];
      await own.client.sendCommand(['ACL', 'SETUSER', 'half', ...rules]);
      const lab = await open([], own.redis.url().replace('redis://', 'redis://half:pw@'));
      const { hints } = (await componentOf(lab.sources, 'broker')).config;
      expect(String(hints)).toContain('may not read the queues');
      expect(await lab.queues()).toEqual([
        { name: 'celery', waiting: 1, reserved: 0, consumers: null },
        { name: 'secret', waiting: null, reserved: 0, consumers: null },
      ]);
      const page = await lab.tasks.listTasks(queryOf(), context);
      expect(page).toMatchObject({ tasks: [{ id: 'a' }], total: null });
    });
  },
);
