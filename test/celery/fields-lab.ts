/** Compares every field of every task with what its client and its workers have written down. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CelerySettings,
  type CelerySources,
  type CelerySourcesOptions,
  celerySources,
} from '../../src/celery.ts';
import { type CeleryApp, type CeleryWorker, celeryApp } from '../helpers/celery-app.ts';
import { until } from '../helpers/redis-server.ts';
import { allTasksOf, differencesOf, sharesOf, type Truth } from './fields-truth.ts';

/** Tasks that end by themselves or are revoked; four more are on the worker that is killed. */
const ENDED = 124;

/**
 * What a monitor that starts after the work knows from stored results: percent of the tasks that have the field, at
 * least. docs/celery.md names the fields.
 */
const SURVIVING = {
  extended: { state: 90, name: 90, args: 90, kwargs: 90, queue: 90, worker: 90, retries: 90, finished: 90 },
  plain: { state: 90, name: 0, args: 0, kwargs: 0, queue: 0, retries: 0, finished: 90 },
};

/** Where a deployment is, and how to read it. */
export interface FieldsServers {
  /** Of the app. */
  readonly settings: CelerySettings;
  /** Of the source, besides its settings. Default none. */
  readonly options?: CelerySourcesOptions;
  /** Called before the first worker starts. */
  prepare?(app: CeleryApp): Promise<unknown>;
  /** Called once every monitor is closed. */
  check?(): Promise<void>;
  close(): Promise<void>;
}

/** A deployment and what its app reports. */
export interface FieldsDeployment {
  /** Whether clients report what they send. */
  readonly sent: boolean;
  /** Whether results are stored with names, arguments and workers. */
  readonly extended: boolean;
  /** What stored results have, in percent. Default: as on Redis. */
  readonly surviving?: Readonly<Record<string, number>>;
  start(): Promise<FieldsServers>;
}

/** Starts what `fields_submit.py` sends to. @returns the worker that is killed while it works */
export async function startFieldsWorkers(app: CeleryApp): Promise<CeleryWorker> {
  const [, , , doomed] = await Promise.all([
    app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery'),
    app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'threads'),
    app.worker('-n', 'w3@beta', '-P', 'prefork', '-c', '2', '-Q', 'slow'),
    app.worker('-n', 'w4@gone', '-P', 'prefork', '-c', '4', '-Q', 'doomed'),
  ]);
  return doomed;
}

/** Declares the tests of a deployment. */
export function checkFields({ sent, extended, surviving, start }: FieldsDeployment): void {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-fields-'));
  const log = join(folder, 'attempts.jsonl');
  const monitors: Record<string, CelerySources> = {};
  let servers: FieldsServers;
  let app: CeleryApp;
  let settings: CelerySettings;
  let truths: Truth[];

  async function startMonitor(name: string): Promise<void> {
    const sources = celerySources({ settings, ...servers.options });
    monitors[name] = sources;
    await until(() => sources.tasks.status?.().ok === true);
  }

  const linesOfLog = (): number => readFileSync(log, 'utf8').split('\n').length - 1;

  beforeAll(async () => {
    servers = await start();
    writeFileSync(log, '');
    settings = {
      ...servers.settings,
      task_send_sent_event: sent,
      result_extended: extended,
      task_track_started: true,
      worker_hijack_root_logger: false,
      worker_prefetch_multiplier: 1,
    };
    app = celeryApp({ ...settings, attempt_log: log } as CelerySettings, 'fields');
    await servers.prepare?.(app);
    await Promise.all([startMonitor('first'), startMonitor('second instance')]);
    const doomed = await startFieldsWorkers(app);
    const ended = app.script('fields_submit.py', log) as Promise<Truth[]>;
    // Each attempt has a line when it begins and one when it ends.
    await until(() => linesOfLog() > 120, 60_000);
    await startMonitor('started in the middle');
    await doomed.kill();
    truths = await ended;
    await startMonitor('started at the end');
  }, 180_000);

  afterAll(async () => {
    await app?.close();
    await servers?.close();
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
      for (const [field, least] of Object.entries(surviving ?? SURVIVING[extended ? 'extended' : 'plain'])) {
        expect({ field, share: shares[field] }).toEqual({
          field,
          share: expect.toSatisfy((share) => share >= least),
        });
      }
      expect(shares).toMatchObject({ result: 100, exception: 100 });
    },
  );

  it('leaves nothing behind', async () => {
    await Promise.all(Object.values(monitors).map((sources) => sources.close()));
    await servers.check?.();
  });
}
