import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { createAclUsers, urlAs } from '../helpers/acl-users.ts';
import { type CeleryApp, celeryApp, celeryMissing, type Submitted } from '../helpers/celery-app.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { recordCommands } from './commands.ts';
import { allTasksOf } from './fields-truth.ts';

const missing = redisMissing ?? celeryMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'one run of a running Celery'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let submitted: Submitted[];
  let commands: Awaited<ReturnType<typeof recordCommands>>;
  let keysBefore: string[];
  const opened: CelerySources[] = [];
  const all: Record<string, CelerySources> = {};

  function open(user: 'read' | 'control', options = {}): CelerySources {
    const settings = {
      broker_url: urlAs(user, redis.url()),
      result_backend: urlAs(user, redis.url()),
    };
    const sources = celerySources({ settings, ...options });
    opened.push(sources);
    return sources;
  }

  async function keys(): Promise<string[]> {
    const client = createClient({ url: redis.url() });
    await client.connect();
    const found = await client.keys('*');
    client.destroy();
    return found.sort();
  }

  beforeAll(async () => {
    redis = await startRedis();
    await createAclUsers(redis.url());
    const settings = {
      broker_url: redis.url(),
      result_backend: redis.url(),
      result_extended: true,
      task_send_sent_event: true,
      task_track_started: true,
      worker_hijack_root_logger: false,
    };
    app = celeryApp(settings);
    keysBefore = await keys();
    commands = await recordCommands(redis.url());
    const interrupted = open('read');
    all['who may only read'] = open('read');
    all['who may ask workers'] = open('control');
    await until(() => opened.every((sources) => sources.tasks.status?.().ok === true));
    await Promise.all([
      app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery,slow'),
      app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'heavy'),
    ]);
    const run = app.submit();
    // In the middle of it, one monitor is closed and another one takes its place.
    await until(async () => (await allTasksOf(interrupted)).size > 100);
    await interrupted.close();
    all['that was restarted in the middle'] = open('read');
    submitted = await run;
    all['that was started after the end'] = open('read');
    await until(() => opened.slice(1).every((sources) => sources.tasks.status?.().ok === true));
  }, 180_000);

  afterAll(async () => {
    await Promise.all(opened.map((sources) => sources.close()));
    commands?.close();
    await app?.close();
    await redis?.close();
  }, 30_000);

  it.each(['who may only read', 'who may ask workers', 'that was restarted in the middle'])(
    'is shown as it was by a monitor %s, within five seconds of its end',
    { timeout: 60_000 },
    async (monitor) => {
      const sources = all[monitor] as CelerySources;
      const wrong = async (): Promise<string[]> => {
        const seen = await allTasksOf(sources);
        return submitted.flatMap(({ id, name, state }) => {
          const task = seen.get(id);
          return task?.state === state && task.name === name
            ? []
            : [`${id} is ${task?.name} ${task?.state}, should be ${name} ${state}`];
        });
      };
      // Ten times the aim.
      await until(async () => (await wrong()).length === 0, 50_000).catch(() => {});
      expect(await wrong()).toEqual([]);
    },
  );

  it('is shown from its results alone by a monitor that was started after its end', {
    timeout: 60_000,
  }, async () => {
    const sources = all['that was started after the end'] as CelerySources;
    await until(async () => {
      const { results } = (await componentOf(sources, 'backend')).config as { results: { done: boolean } };
      return results.done;
    });
    const seen = await allTasksOf(sources);
    const complete = await allTasksOf(all['who may only read'] as CelerySources);
    const wrong: string[] = [];
    for (const { id, name, state, never_ran: neverRan } of submitted) {
      const task = seen.get(id);
      // Nothing is stored of tasks whose results are ignored.
      if (name === 'shop.silent') {
        if (task !== undefined) wrong.push(`${id} is known`);
        continue;
      }
      // The backend has no word for what a worker drops: it stays started there.
      const expected = name === 'shop.rejected' ? 'STARTED' : state;
      if (task?.state !== expected || task.name !== name) {
        wrong.push(`${id} is ${task?.name} ${task?.state}, should be ${name} ${expected}`);
      }
      const other = complete.get(id);
      for (const field of ['parentId', 'groupId', 'result', 'args', 'worker'] as const) {
        // Of a link that never ran only the message of the chain's first task names what is before it.
        if (field === 'parentId' && neverRan === true) continue;
        if (task?.[field] !== other?.[field]) {
          wrong.push(`${field} of ${id} (${name}) is ${task?.[field]}, should be ${other?.[field]}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('tells what only workers know to who may ask them, and null to who may not', async () => {
    const workersOf = async (monitor: string) =>
      await (all[monitor] as CelerySources).workers.listWorkers(context);
    await until(async () => (await workersOf('who may ask workers')).every(({ pool }) => pool !== null));
    expect(await workersOf('who may ask workers')).toMatchObject([
      { hostname: 'w1@alpha', status: 'online', pool: 'prefork', concurrency: 2, queues: ['celery', 'slow'] },
      { hostname: 'w2@beta', status: 'online', pool: 'threads', concurrency: 4, queues: ['heavy'] },
    ]);
    expect(await workersOf('who may only read')).toMatchObject([
      { hostname: 'w1@alpha', status: 'online', pool: null, registeredTasks: null, queues: null },
      { hostname: 'w2@beta', status: 'online', pool: null, registeredTasks: null, queues: null },
    ]);
    expect((await componentOf(all['who may only read'] as CelerySources, 'control')).status).toBe('down');
  });

  it('sees no write but those of reply keys, which are gone afterwards, and no slow command', async () => {
    await Promise.all(opened.map((sources) => sources.close()));
    const { written, slow } = await commands.of(['read', 'control']);
    const REPLIES =
      /^"(?:SADD|SREM|DEL|BRPOP)" "[^"]*reply\.celery\.pidbox|^"PUBLISH" "\/0\.celery\.pidbox"/i;
    expect(written.filter((line) => !REPLIES.test(line))).toEqual([]);
    expect(slow).toEqual([]);
    const added = (await keys()).filter((key) => !keysBefore.includes(key));
    expect(added.filter((key) => key.includes('reply'))).toEqual([]);
  });
});
