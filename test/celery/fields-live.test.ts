/** Compares every field of every task with what its client and its workers have written down. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { allTasksOf, differencesOf, sharesOf, type Truth } from './fields-truth.ts';

const missing = redisMissing ?? celeryMissing;

/** Tasks that end by themselves or are revoked; four more are on the worker that is killed. */
const ENDED = 127;

/**
 * What a monitor that starts after the work knows from stored results: percent of the tasks that have the field, at
 * least. docs/celery.md publishes these.
 */
const SURVIVING = {
  extended: { state: 90, name: 90, args: 90, kwargs: 90, queue: 90, worker: 90, retries: 90, finished: 90 },
  plain: { state: 90, name: 0, args: 0, kwargs: 0, queue: 0, retries: 0, finished: 90 },
};

const DEPLOYMENTS = [
  { title: 'with sent events and extended results', sent: true, extended: true },
  { title: 'without sent events and extended results', sent: false, extended: false },
];

describe.skipIf(missing !== null)(titleUnless(missing, 'each field of a workload with retries'), () => {
  describe.each(DEPLOYMENTS)('$title', checkDeployment);
});

function checkDeployment({ sent, extended }: (typeof DEPLOYMENTS)[number]): void {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-fields-'));
  const log = join(folder, 'attempts.jsonl');
  const monitors: Record<string, CelerySources> = {};
  let redis: RedisServer;
  let app: CeleryApp;
  let settings: CelerySettings;
  let truths: Truth[];

  async function startMonitor(name: string): Promise<void> {
    const sources = celerySources({ settings });
    monitors[name] = sources;
    await until(() => sources.tasks.status?.().ok === true);
  }

  const linesOfLog = (): number => readFileSync(log, 'utf8').split('\n').length - 1;

  beforeAll(async () => {
    redis = await startRedis();
    writeFileSync(log, '');
    settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      task_send_sent_event: sent,
      result_extended: extended,
      task_track_started: true,
      worker_hijack_root_logger: false,
      worker_prefetch_multiplier: 1,
    };
    app = celeryApp({ ...settings, attempt_log: log } as CelerySettings, 'fields');
    await Promise.all([startMonitor('first'), startMonitor('second instance')]);
    const [, , , doomed] = await Promise.all([
      app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery'),
      app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'threads'),
      app.worker('-n', 'w3@beta', '-P', 'prefork', '-c', '2', '-Q', 'slow'),
      app.worker('-n', 'w4@gone', '-P', 'prefork', '-c', '4', '-Q', 'doomed'),
    ]);
    const ended = app.script('fields_submit.py', log) as Promise<Truth[]>;
    // Each attempt has a line when it begins and one when it ends.
    await until(() => linesOfLog() > 120, 60_000);
    await startMonitor('started in the middle');
    await doomed.kill();
    truths = await ended;
    await startMonitor('started at the end');
  }, 180_000);

  afterAll(async () => {
    await Promise.all(Object.values(monitors).map((sources) => sources.close()));
    await app?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  it.each(['first', 'second instance'])(
    'is right and known to the %s monitor',
    { timeout: 120_000 },
    async (name) => {
      const wrong = async () =>
        differencesOf(truths, await allTasksOf(monitors[name] as CelerySources), { sent });
      await until(async () => (await wrong()).length === 0, 60_000).catch(() => {});
      expect(await wrong()).toEqual([]);
      expect(truths).toHaveLength(ENDED + 4);
    },
  );

  it.each(['started in the middle', 'started at the end'])(
    'is right or null to the monitor that was %s',
    { timeout: 120_000 },
    async (name) => {
      const wrong = async () =>
        differencesOf(truths, await allTasksOf(monitors[name] as CelerySources), { sent, mayBeNull: true });
      await until(async () => (await wrong()).length === 0, 30_000).catch(() => {});
      expect(await wrong()).toEqual([]);
      const shares = sharesOf(truths, await allTasksOf(monitors[name] as CelerySources));
      for (const [field, least] of Object.entries(SURVIVING[extended ? 'extended' : 'plain'])) {
        expect({ field, share: shares[field] }).toEqual({
          field,
          share: expect.toSatisfy((share) => share >= least),
        });
      }
      expect(shares).toMatchObject({ result: 100, exception: 100 });
    },
  );
}
