import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { controlError, ping, untilResponding } from './control-lab.ts';

const missing = redisMissing ?? celeryMissing;

/** Workers that publish nothing by themselves, so that only their answers tell of them. */
const QUIET = ['--without-heartbeat', '--without-gossip', '--without-mingle'];

/** What ends after the test, also when it fails half-way. */
const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
}, 60_000);

/** One deployment: its Redis and its workers. */
interface Lab {
  readonly redis: RedisServer;
  readonly app: CeleryApp;
  open(): Promise<CelerySources>;
  /** Keys that are in the broker now. */
  keys(): Promise<string[]>;
}

async function startLab(more: CelerySettings = {}): Promise<Lab> {
  const redis = await startRedis();
  ends.push(() => redis.close());
  const settings = { broker_url: redis.url(), result_backend: redis.url(2), ...more };
  const app = celeryApp(settings);
  ends.push(() => app.close());
  const client = createClient({ url: redis.url() });
  await client.connect();
  ends.push(() => client.destroy());
  return {
    redis,
    app,
    async open() {
      const sources = celerySources({ settings, enableEvents: true });
      ends.push(() => sources.close());
      await until(() => sources.events.status?.().ok === true);
      return sources;
    },
    keys: async () => (await client.keys('*')).sort(),
  };
}

function secondApp(settings: CelerySettings, module?: string): CeleryApp {
  const app = celeryApp(settings, module);
  ends.push(() => app.close());
  return app;
}

const shown = async (sources: CelerySources) =>
  new Map((await sources.workers.listWorkers(context)).map((worker) => [worker.hostname, worker]));

/** A worker whose mailbox was reset answers nothing and takes no task any more. */
async function expectTaken(app: CeleryApp, worker: CeleryWorker, ...options: string[]): Promise<void> {
  const ended = (): number => worker.output().match(/Task shop\.add\[[^\]]+\] succeeded/g)?.length ?? 0;
  const before = ended();
  await until(async () => {
    await app.process('-', 'call', 'shop.add', '--args=[1,2]', ...options);
    return ended() > before;
  }, 90_000);
}

describe.skipIf(missing !== null)(titleUnless(missing, 'running workers'), { timeout: 240_000 }, () => {
  it.each<[string, CelerySettings]>([
    ['as Celery comes', {}],
    [
      'with a key prefix, an exchange of its own and other priorities',
      {
        control_exchange: 'ctl',
        broker_transport_options: { global_keyprefix: 'shop:', priority_steps: [1, 5], sep: ':' },
      },
    ],
  ])('tell of themselves and stay at work, and nothing is left in Redis: %s', async (_, settings) => {
    const lab = await startLab(settings);
    const workers = await Promise.all([
      lab.app.plainWorker('-n', 'prefork@a', '-P', 'prefork', '-c', '2', '-Q', 'q0,shared'),
      lab.app.plainWorker('-n', 'threads@b', '-P', 'threads', '-c', '3', '-Q', 'q1,shared'),
      lab.app.plainWorker('-n', 'solo@c', '-P', 'solo', '-Q', 'q2'),
    ]);
    await lab.app.send({ name: 'shop.add', args: [1, 2], queue: 'q0' });
    await until(() => workers[0].output().includes('succeeded'));
    const before = await lab.keys();
    const pids = new Set<unknown>();
    // Each source asks everything that there is.
    for (let round = 0; round < 3; round += 1) {
      const sources = await lab.open();
      await until(async () => {
        const all = [...(await shown(sources)).values()];
        return (
          all.length === 3 && all.every(({ pid, registeredTasks }) => pid != null && registeredTasks != null)
        );
      });
      await untilResponding(sources, 'prefork@a', 'solo@c', 'threads@b');
      await until(() => workers.every((worker) => worker.output().includes('enabled by remote')));
      const found = await shown(sources);
      for (const { pid, registeredTasks } of found.values()) {
        pids.add(pid);
        expect(registeredTasks).toContain('shop.add');
      }
      expect(found.get('prefork@a')).toMatchObject({
        ...{ pool: 'prefork', poolSize: 2, concurrency: 2, processed: 1, queues: ['q0', 'shared'] },
      });
      expect(found.get('prefork@a')?.uptimeSeconds).toBeGreaterThanOrEqual(0);
      expect(found.get('threads@b')).toMatchObject({ pool: 'threads', concurrency: 3 });
      expect(found.get('solo@c')).toMatchObject({ pool: 'solo', poolSize: 1 });
      const queues = await sources.queues.listQueues(context);
      expect(queues?.find(({ name }) => name === 'shared')?.consumers ?? 2).toBe(2);
      expect(await controlError(sources)).toBeNull();
      await sources.close();
    }
    expect(pids.size).toBe(3);
    await until(async () => (await lab.keys()).join() === before.join());
    await lab.app.send(...['q0', 'q1', 'q2'].map((queue) => ({ name: 'shop.add', args: [1, 2], queue })));
    for (const worker of workers)
      await until(() => /Task shop\.add\[[^\]]+\] succeeded/.test(worker.output()));
    expect(workers.map((worker) => worker.output()).join('')).not.toMatch(/CRITICAL|ERROR|Traceback/);
  });

  it('are shown without those that cannot answer, whose late answers leave nothing', async () => {
    const lab = await startLab();
    const [prefork] = await Promise.all([
      lab.app.plainWorker('-n', 'prefork@a', '-P', 'prefork', '-c', '1', '-Q', 'fast', ...QUIET),
      lab.app.plainWorker('-n', 'threads@b', '-P', 'threads', '-c', '2', '-Q', 'other', ...QUIET),
      lab.app.plainWorker('-n', 'solo@c', '-P', 'solo', '-Q', 'slow', ...QUIET),
    ]);
    const sources = await lab.open();
    await untilResponding(sources, 'prefork@a', 'solo@c', 'threads@b');
    await until(async () => (await shown(sources)).get('threads@b')?.pid != null);
    const pid = (await shown(sources)).get('threads@b')?.pid as number;
    process.kill(pid, 'SIGSTOP');
    try {
      await until(async () => (await ping(sources)).missing.join() === 'threads@b');
      expect((await ping(sources)).responding).toEqual(['prefork@a', 'solo@c']);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await untilResponding(sources, 'prefork@a', 'solo@c', 'threads@b');
    // A busy solo worker answers when it gets to it, to a list that nobody reads any more.
    await lab.app.send({ name: 'shop.slow', args: [5], queue: 'slow' });
    await until(async () => (await ping(sources)).missing.includes('solo@c'));
    await untilResponding(sources, 'prefork@a', 'solo@c', 'threads@b');
    await prefork.kill();
    await until(async () => (await ping(sources)).missing.join() === 'prefork@a');
    expect(await ping(sources)).toMatchObject({ ok: true, responding: ['solo@c', 'threads@b'] });
    await sources.close();
    await until(async () => !(await lab.keys()).join().includes('reply'));
  });

  it('tell of tasks that run, of whose start nobody has heard', async () => {
    const lab = await startLab({ worker_prefetch_multiplier: 1 });
    const worker = await lab.app.plainWorker('-n', 'w1@a', '-P', 'threads', '-c', '2', '-Q', 'celery');
    ends.push(() => worker.kill());
    const slow = { name: 'shop.slow', args: [300], queue: 'celery' };
    await lab.app.send(slow, slow, slow);
    await until(() => (worker.output().match(/received/g)?.length ?? 0) >= 2);
    const sources = await lab.open();
    const started = async () =>
      (await sources.tasks.listTasks(queryOf({ states: ['STARTED'] }), context)).tasks;
    await until(async () => (await started()).length === 2);
    for (const task of await started()) {
      expect(task).toMatchObject({ name: 'shop.slow', worker: 'w1@a', queue: 'celery', args: '[300]' });
    }
    const events = await sources.events.listEvents(
      { limit: 9, since: null, states: ['STARTED'], workers: [], tasks: [] },
      context,
    );
    expect(events.events).toEqual([]);
  });
});

describe.skipIf(missing !== null)(
  titleUnless(missing, 'workers that do not speak JSON'),
  { timeout: 240_000 },
  () => {
    it.each([
      ['pickle', { task_serializer: 'pickle', accept_content: ['pickle', 'json'] }],
      // `stats` would end it.
      ['yaml', { task_serializer: 'yaml', accept_content: ['yaml', 'json'] }],
    ])('count as alive that answer in %s, and are asked nothing else', async (_, settings) => {
      const lab = await startLab(settings);
      const worker = await lab.app.plainWorker('-n', 'w1@alpha-1.example', '-P', 'solo');
      const sources = await lab.open();
      await until(async () => (await ping(sources)).ok === true);
      expect((await shown(sources)).get('w1@alpha-1.example')?.pid ?? null).toBeNull();
      await expectTaken(lab.app, worker);
      await until(async () => (await ping(sources)).ok === true);
    });

    it('are not harmed where they could not put their tasks or their options into JSON', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'monitor-odd-'));
      writeFileSync(
        join(folder, 'odd.py'),
        "from shop import app\nclass Odd: pass\napp.conf.broker_transport_options = {'odd': Odd()}\n",
      );
      writeFileSync(
        join(folder, 'send.py'),
        'import shop\nshop.slow.apply_async((4,), queue="odd")\nfor _ in range(2):\n    ' +
          'shop.slow.apply_async(({1, 2},), serializer="pickle", queue="odd")\nprint(0)\n',
      );
      ends.push(() => rmSync(folder, { recursive: true }), vi.unstubAllEnvs);
      vi.stubEnv('PYTHONPATH', `${folder}:${new URL('app/', import.meta.url).pathname}`);
      const lab = await startLab({ accept_content: ['json', 'pickle'] });
      const odd = secondApp({ broker_url: lab.redis.url(), task_default_queue: 'second' }, 'odd');
      const first = await lab.app.plainWorker('-n', 'w1@a', '-P', 'threads', '-c', '1', '-Q', 'odd,celery');
      const second = await odd.plainWorker('-n', 'w2@b', '-P', 'threads', '-c', '1');
      await lab.app.script(join(folder, 'send.py'));
      await until(() => (first.output().match(/Task shop\.slow\[\S+ received/g)?.length ?? 0) === 3);
      const sources = await lab.open();
      await untilResponding(sources, 'w1@a', 'w2@b');
      await until(async () => (await shown(sources)).get('w2@b')?.queues?.join() === 'second');
      const found = await shown(sources);
      expect([found.get('w1@a')?.pid != null, found.get('w2@b')?.pid ?? null]).toEqual([true, null]);
      await expectTaken(lab.app, first);
      await expectTaken(odd, second, '--queue=second');
    });

    it('are not harmed that take no JSON, nor those that listen to nobody', async () => {
      const lab = await startLab({ task_serializer: 'pickle', accept_content: ['pickle'] });
      const deaf = secondApp({ broker_url: lab.redis.url(), worker_enable_remote_control: false });
      const worker = await lab.app.plainWorker('-n', 'w1@a', '-P', 'solo', ...QUIET);
      await deaf.plainWorker('-n', 'w2@b', '-P', 'solo', ...QUIET);
      const sources = await lab.open();
      await until(async () => {
        await ping(sources);
        return worker.output().includes('Refusing to deserialize');
      });
      expect((await ping(sources)).responding).toEqual([]);
      await deaf.close();
      await expectTaken(lab.app, worker, '--serializer=pickle');
    });
  },
);
