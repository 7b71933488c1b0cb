import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { browserMissing } from '../dashboard/browser.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { askAll } from './ask-all.ts';
import type { Facts } from './facts.ts';
import { type LiveRouter, serveForAll } from './live-router.ts';

const missing = browserMissing ?? redisMissing ?? celeryMissing;
const ORDER = '11448';
const [WORKER, STUCK] = ['w1@shop', 'w2@shop'];

/** What the played incident prints. */
type Played = Pick<
  Facts,
  'deploy' | 'dueSince' | 'waiting' | 'hungSince' | 'slots' | 'failures' | 'slowdown'
>;

describe.skipIf(missing !== null)(titleUnless(missing, 'an incident of a running Celery'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-beat-'));
  let redis: RedisServer;
  let app: CeleryApp;
  let router: LiveRouter;
  let books: ReturnType<typeof createClient>;
  let facts: Facts;

  beforeAll(async () => {
    redis = await startRedis();
    const settings = {
      broker_url: redis.url(),
      result_backend: redis.url(1),
      task_send_sent_event: true,
      task_track_started: true,
      worker_hijack_root_logger: false,
      beat_schedule: { 'Frequent report': { task: 'reports.hourly', schedule: 15.0 } },
    };
    app = celeryApp(settings, 'incident');
    books = createClient({ url: redis.url() });
    await books.connect();
    let deploy: number | null = null;
    router = await serveForAll(celerySources({ settings }), () =>
      deploy === null ? [] : [{ at: new Date(deploy), text: 'v412', url: null }],
    );
    await Promise.all([
      app.worker('-n', WORKER, '-P', 'threads', '-c', '8', '-Q', 'celery,mail'),
      app.worker('-n', STUCK, '-P', 'threads', '-c', '2', '-Q', 'video'),
    ]);
    await app.process('beat: Starting', 'beat', '--loglevel', 'INFO', '-s', join(folder, 'schedule'));
    const played = (await app.script('incident.py', WORKER, ORDER)) as Played;
    deploy = played.deploy;
    facts = factsOf(played, async () => Number(await books.get('books:reports')));
  }, 400_000);

  afterAll(async () => {
    books?.destroy();
    await router?.close();
    await app?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  askAll('celery', () => Promise.resolve({ base: router.base, facts }));
});

function factsOf(played: Played, runs: () => Promise<number>): Facts {
  return {
    ...{ ...played, marker: 'v412', isShort: true, slow: 'images.resize', failing: 'payments.charge' },
    problems: ['payments.charge fails', `${played.slots} video.encode tasks run for`],
    ...{ queue: 'mail', worker: STUCK, hung: 'video.encode', order: ORDER },
    why: ['CardDeclined', `insufficient funds for order ${ORDER}`],
    ...{ orderTasks: ['orders.place', 'payments.charge', 'orders.cancel'], next: 'orders.cancel' },
    schedule: { name: 'Frequent report', task: 'reports.hourly', runs },
  };
}
