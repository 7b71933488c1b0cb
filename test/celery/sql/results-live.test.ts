import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../../src/celery.ts';
import type { TaskDetail } from '../../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../../helpers/celery-app.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { PYTHON } from '../../helpers/engines.ts';
import {
  type RedisServer,
  redisMissing,
  startRedis,
  titleUnless,
  until,
} from '../../helpers/redis-server.ts';
import { type AppDatabase, DATABASES } from './sql-databases.ts';

const FIND =
  "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ['django_celery_results', 'sqlalchemy', 'psycopg2', 'MySQLdb'])))";
const packagesMissing =
  spawnSync(PYTHON, ['-c', FIND]).status === 0
    ? null
    : 'install python3-django-celery-results, python3-sqlalchemy, python3-psycopg2 and python3-mysqldb';

interface Deployment {
  readonly app: CeleryApp;
  readonly settings: CelerySettings;
}

describe.each(DATABASES)('results in $name', ({ name, missing, open }) => {
  const reason = missing ?? celeryMissing ?? redisMissing ?? packagesMissing;

  describe.skipIf(reason !== null)(titleUnless(reason, `written by real workers to ${name}`), () => {
    let redis: RedisServer;
    let database: AppDatabase;
    const opened: { close(): unknown }[] = [];

    beforeAll(async () => {
      [redis, database] = await Promise.all([startRedis(), open()]);
    });

    afterAll(async () => {
      for (const one of opened) await one.close();
      await database?.close();
      await redis?.close();
    });

    async function deploy(writer: 'django' | 'sqlalchemy'): Promise<Deployment> {
      const settings = {
        broker_url: redis.url(),
        result_backend: writer === 'django' ? 'django-db' : database.sqlalchemy,
        result_extended: true,
        task_track_started: true,
        task_default_queue: writer,
        django: { database: database.django },
      };
      const app = celeryApp(settings, writer === 'django' ? 'shop_django' : 'shop');
      opened.push(app);
      if (writer === 'django') await app.script('shop_django.py', 'migrate');
      await app.plainWorker('-P', 'solo', '-Q', writer, '--without-gossip', '--without-mingle');
      return { app, settings };
    }

    /** Results alone: no event of a broker helps. */
    function watch({ settings }: Deployment, timezone = 'UTC'): CelerySources {
      const sources = celerySources({
        broker: 'sqs://',
        backend: String(settings.result_backend),
        sql: { ...database.sql, timezone },
        settings: {},
      });
      opened.push(sources);
      return sources;
    }

    const read = async (sources: CelerySources, id: string): Promise<TaskDetail | null> =>
      sources.tasks.getTask(id, context);

    async function ended(sources: CelerySources, id: string, state: string): Promise<TaskDetail> {
      await until(async () => (await read(sources, id))?.state === state, 20_000);
      return (await read(sources, id)) as TaskDetail;
    }

    it.each(['django', 'sqlalchemy'] as const)('of %s', async (writer) => {
      const deployment = await deploy(writer);
      const { app } = deployment;
      const queue = writer;
      const send = async (task: string, args: readonly unknown[], id: string): Promise<void> => {
        const code = `import json, sys, ${writer === 'django' ? 'shop_django, ' : ''}shop\nshop.app.tasks[${JSON.stringify(task)}].apply_async(tuple(json.loads(sys.argv[1])), task_id=${JSON.stringify(id)}, queue=${JSON.stringify(queue)})\nprint(0)`;
        await app.script('-c', code, JSON.stringify(args));
      };
      await send('shop.add', [1, 2], `before-${writer}`);
      const sources = watch(deployment);
      await until(() => sources.tasks.status?.().ok === true, 20_000);
      const before = await ended(sources, `before-${writer}`, 'SUCCESS');
      expect(before).toMatchObject({ name: 'shop.add', args: '(1, 2)', kwargs: '{}' });
      expect(before.worker).toMatch(/^celery@/);
      expect(before.result).toBe(writer === 'django' ? '3' : null);
      expect(Math.abs(Date.now() - Number(before.finished))).toBeLessThan(60_000);

      await send('shop.add', [20, 2], `after-${writer}`);
      const after = await ended(sources, `after-${writer}`, 'SUCCESS');
      expect(after).toMatchObject({ name: 'shop.add', args: '(20, 2)' });
      const end = after.timeline?.find(({ state }) => state === 'SUCCESS');
      if (writer === 'sqlalchemy') {
        expect(end?.detail).toBe('The stored result is pickled, which only Python can read.');
        expect(after.queue).toBe(queue);
      } else expect(after.result).toBe('22');

      await send('shop.fail', ['no luck'], `fail-${writer}`);
      const failed = await ended(sources, `fail-${writer}`, 'FAILURE');
      expect(failed.exception).toBe("ValueError('no luck')");
      expect(failed.traceback).toContain('no luck');

      // A row that is updated keeps its key.
      await send('shop.slow', [4], `slow-${writer}`);
      await ended(sources, `slow-${writer}`, 'STARTED');
      await ended(sources, `slow-${writer}`, 'SUCCESS');
      await send('shop.progress', [], `progress-${writer}`);
      await ended(sources, `progress-${writer}`, 'SUCCESS');

      const { config, status } = await componentOf(sources, 'backend');
      expect(status).toBe('up');
      expect(config).toMatchObject({
        transport: database.sql.dialect,
        table: writer === 'django' ? 'django_celery_results_taskresult' : 'celery_taskmeta',
        // Celery 5.6 makes an index over the date.
        polled_by: writer === 'django' ? 'date_done' : expect.stringMatching(/^(id|date_done)$/),
        error: null,
      });
      expect(JSON.stringify(config.hints).includes('pickles')).toBe(writer === 'sqlalchemy');
    });
  });
});
