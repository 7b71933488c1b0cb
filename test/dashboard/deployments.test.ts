import { describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { memorySources } from '../../src/memory.ts';
import type { TaskBody, TasksBody } from '../../src/wire.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { nginxMissing, startNginx } from '../helpers/nginx.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { serve, until } from '../router/host-kit.ts';
import { browserMissing, look } from './browser.ts';

const [, express5] = EXPRESS_MAJORS;
if (express5 === undefined) throw new Error('There is no Express 5.');

const withoutNginx = browserMissing ?? nginxMissing;
const withoutCelery = browserMissing ?? redisMissing ?? celeryMissing;

describe.skipIf(withoutNginx)(titleUnless(withoutNginx, 'the page behind nginx'), () => {
  it('is found without its slash, loads its files and follows what happens', async () => {
    const queue = memorySources();
    queue.record({ id: 'first', state: 'STARTED', name: 'shop.pay' });
    const { url } = await serve(express5, { sources: queue });
    const { page, go, text } = await look(`${await startNginx(url)}/monitor`);
    expect(new URL(page.url()).pathname).toBe('/tools/monitor/');
    await go('#/tasks');
    await until(async () => (await text()).includes('shop.pay'));
    queue.record({ id: 'second', state: 'STARTED', name: 'shop.mail' });
    await until(async () => (await text()).includes('shop.mail'));
  });
});

describe.skipIf(withoutCelery)(titleUnless(withoutCelery, 'the page over a running Celery'), () => {
  it('shows in each view what the API says', { timeout: 180_000 }, async () => {
    const redis = await startRedis();
    const settings = {
      broker_url: redis.url(),
      result_backend: redis.url(),
      result_extended: true,
      task_send_sent_event: true,
      task_track_started: true,
      worker_hijack_root_logger: false,
    };
    const app = celeryApp(settings);
    const sources = celerySources({
      settings: { ...settings, beat_schedule: { nightly: { task: 'shop.add', schedule: '0 3 * * *' } } },
    });
    onTestFinished(async () => {
      await app.close();
      await redis.close();
    });
    await Promise.all([
      app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery,slow'),
      app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'heavy'),
    ]);
    const { base, get } = await serve(express5, { sources });
    await app.submit();
    const list = async (query: string): Promise<TasksBody> =>
      (await get<TasksBody>(`/api/tasks/?${query}`)).body;
    await until(async () => (await list('')).total === 500, 30_000);
    const shows = async (view: Awaited<ReturnType<typeof look>>, ...texts: string[]): Promise<void> => {
      for (const wanted of texts) {
        await until(async () => (await view.text()).includes(wanted)).catch(async () => {
          throw new Error(`${wanted} is not shown in: ${(await view.text()).slice(0, 1_500)}`);
        });
      }
    };
    const view = await look(base, '#/');
    await shows(view, 'Workers 2/2', 'Broker up', 'shop.add');
    await view.go('#/failures');
    await shows(view, 'ValueError: heavy', 'OSError: never');
    await view.go('#/queues');
    await shows(view, 'celery', 'heavy', 'slow');
    await view.go('#/tasks?state=FAILURE');
    await shows(view, 'shop.fail', 'shop.hopeless');
    const failed = (await list('state=FAILURE&name=shop.hopeless&limit=1')).tasks[0] as TaskBody;
    await view.go(`#/tasks/${failed.task_id}?tab=timeline`);
    await shows(view, 'shop.hopeless', "OSError('never')", 'Traceback', 'RETRY');
    const body = (await list('name=shop.total&limit=1')).tasks[0] as TaskBody;
    await view.go(`#/workflow/${body.task_id}`);
    await shows(view, '5 tasks');
    await view.go('#/workers');
    await shows(view, 'w1@alpha', 'w2@beta', 'prefork', 'threads');
    await view.go('#/schedules');
    await shows(view, 'nightly', 'Daily at 03:00');
    await view.go('#/system');
    await shows(view, 'Broker', 'Result backend', 'celery');
  });
});
