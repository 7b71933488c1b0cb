import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import { type Control, createControl } from '../../src/sources/celery/control/control.ts';
import { createPing } from '../../src/sources/celery/control/ping.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { askEverything, namesIn } from './ask-everything.ts';

const missing = redisMissing ?? celeryMissing;

/** Workers that publish nothing by themselves, so that what is published can be counted. */
const QUIET = ['--without-heartbeat', '--without-gossip', '--without-mingle'];

/** What ends after the test, also when it fails half-way. */
const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
}, 60_000);

/** One deployment: its Redis, its workers, and what asks them. */
interface Lab {
  readonly redis: RedisServer;
  readonly app: CeleryApp;
  readonly control: Control;
}

async function startLab(more: CelerySettings): Promise<Lab> {
  const redis = await startRedis();
  ends.push(() => redis.close());
  const settings = { broker_url: redis.url(), result_backend: redis.url(2), ...more };
  const app = celeryApp(settings);
  ends.push(() => app.close());
  const endpoint = brokerEndpoint(undefined, settings);
  const control = createControl({
    mailbox: createRedisMailbox(endpoint, settings),
    known: () => [],
    mayEnableEvents: true,
  });
  ends.push(() => control.close());
  return { redis, app, control };
}

function secondApp(settings: CelerySettings, module?: string): CeleryApp {
  const app = celeryApp(settings, module);
  ends.push(() => app.close());
  return app;
}

/** A worker says that it is ready a moment before it listens. */
async function expectListening(control: Control, count: number): Promise<void> {
  await until(async () => (await control.ask('ping', { timeoutMs: 200 }))?.receivers === count);
}

describe.skipIf(missing !== null)(titleUnless(missing, 'workers that do not speak JSON'), () => {
  it.each([
    ['pickle', { task_serializer: 'pickle', accept_content: ['pickle', 'json'] }],
    ['yaml', { task_serializer: 'yaml', accept_content: ['yaml', 'json'] }],
  ])(
    'counts workers as alive that answer in %s, and asks them nothing else',
    { timeout: 60_000 },
    async (_, settings) => {
      const lab = await startLab(settings);
      const worker = await lab.app.plainWorker('-n', 'w1@alpha-1.example', '-P', 'solo');
      await expectListening(lab.control, 1);
      const pingWorkers = createPing(lab.control, createMemoryHistory());
      const responding = ['w1@alpha-1.example'];
      expect(await pingWorkers()).toEqual({ ok: true, error: null, responding, missing: [] });
      // In yaml, `stats` would end it.
      for (const replies of await askEverything(lab.control)) {
        expect([...(replies?.values ?? [])].filter(([, value]) => value !== null)).toEqual([]);
      }
      await expectTaken(lab.app, worker);
      expect(namesIn(await lab.control.ask('ping'))).toEqual(responding);
    },
  );

  it('harms no worker that could not put its tasks or its options into JSON', {
    timeout: 60_000,
  }, async () => {
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
    await expectListening(lab.control, 2);
    const [ping, stats, active, reserved] = await askEverything(lab.control);
    expect(namesIn(ping ?? null)).toEqual(['w1@a', 'w2@b']);
    expect(namesIn(stats ?? null)).toEqual(['w1@a']);
    expect(namesIn(active ?? null)).toEqual(['w1@a', 'w2@b']);
    expect(namesIn(reserved ?? null)).toEqual(['w2@b']);
    await expectTaken(lab.app, first);
    await expectTaken(odd, second, '--queue=second');
  });

  it('harms no worker that takes no JSON, and none that listens to nobody', { timeout: 60_000 }, async () => {
    const lab = await startLab({ task_serializer: 'pickle', accept_content: ['pickle'] });
    const deaf = secondApp({ broker_url: lab.redis.url(), worker_enable_remote_control: false });
    const worker = await lab.app.plainWorker('-n', 'w1@a', '-P', 'solo', ...QUIET);
    await deaf.plainWorker('-n', 'w2@b', '-P', 'solo', ...QUIET);
    await expectListening(lab.control, 1);
    expect(namesIn(await lab.control.ask('ping', { timeoutMs: 200 }))).toEqual([]);
    await until(() => worker.output().includes('Refusing to deserialize'));
    await deaf.close();
    await expectTaken(lab.app, worker, '--serializer=pickle');
  });
});

/** A worker whose mailbox was reset answers nothing and takes no task any more. */
async function expectTaken(app: CeleryApp, worker: CeleryWorker, ...options: string[]): Promise<void> {
  const ended = (): number => worker.output().match(/Task shop\.add\[[^\]]+\] succeeded/g)?.length ?? 0;
  const before = ended();
  await until(async () => {
    await app.process('-', 'call', 'shop.add', '--args=[1,2]', ...options);
    return ended() > before;
  }, 30_000);
}
