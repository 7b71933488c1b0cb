/** A live run of the canvases in `app/canvas_submit.py`, with everything that Redis held and published. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { type CeleryApp, celeryApp } from '../helpers/celery-app.ts';
import type { DumpedKey, Published } from '../helpers/celery-recordings.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, startRedis, until } from '../helpers/redis-server.ts';
import type { CanvasTruth } from './canvas-truth.ts';

/** How a run goes. */
export interface CanvasMode {
  /** `first`: everything is sent before a worker starts, so its messages are seen waiting. */
  readonly submits: 'first' | 'while workers run';
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A run that has ended. Its sources are still there. */
export interface CanvasRun {
  readonly truth: CanvasTruth;
  readonly sources: CelerySources;
  readonly messages: readonly Published[];
  readonly keys: readonly DumpedKey[];
  close(): Promise<void>;
}

const BROKER = 1;
const BACKEND = 2;

/** Runs all canvases to their ends. */
export async function runCanvases({ submits, settings }: CanvasMode): Promise<CanvasRun> {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-canvas-'));
  const redis = await startRedis();
  const all = {
    broker_url: redis.url(BROKER),
    result_backend: redis.url(BACKEND),
    task_send_sent_event: true,
    task_track_started: true,
    worker_hijack_root_logger: false,
    canvas_log: join(folder, 'seen.jsonl'),
    ...settings,
  };
  writeFileSync(all.canvas_log, '');
  const app = celeryApp(all, 'canvas');
  const sources = celerySources({ settings: all });
  const recorder = await record(redis);
  const keys: DumpedKey[] = [];

  async function close(): Promise<void> {
    recorder.close();
    await sources.close();
    await app.close();
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    await until(() => sources.tasks.status?.().ok === true);
    if (submits !== 'first') await startWorker(app);
    const submitted = await app.script('canvas_submit.py');
    if (submits === 'first') {
      keys.push(...(await dumpKeys(redis, BROKER)));
      await startWorker(app);
    }
    const file = join(folder, 'submitted.json');
    writeFileSync(file, JSON.stringify(submitted));
    const truth = (await app.script('canvas_finish.py', file)) as CanvasTruth;
    keys.push(...(await dumpKeys(redis, BROKER)), ...(await dumpKeys(redis, BACKEND)));
    return { truth, sources, messages: recorder.messages, keys, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startWorker(app: CeleryApp): Promise<void> {
  await app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '3', '-Q', 'celery,slow');
}

/** Keeps all that is published. */
async function record(redis: RedisServer): Promise<{ messages: Published[]; close(): void }> {
  const client = createClient({ url: redis.url(), RESP: 2 });
  client.on('error', () => {});
  await client.connect();
  const messages: Published[] = [];
  await client.pSubscribe('*', (message, channel) => {
    messages.push({ t: Date.now() / 1000, channel, message });
  });
  return { messages, close: () => client.destroy() };
}

/** Every string, list and hash of a database. */
async function dumpKeys(redis: RedisServer, db: number): Promise<DumpedKey[]> {
  const client = createClient({ url: redis.url(db), RESP: 2 });
  client.on('error', () => {});
  await client.connect();
  const keys: DumpedKey[] = [];
  for await (const found of client.scanIterator()) {
    for (const key of found) {
      const type = await client.type(key);
      const entry = { label: 'live', at: Date.now() / 1000, db, key };
      if (type === 'string') keys.push({ ...entry, type, value: await client.get(key) });
      if (type === 'list') keys.push({ ...entry, type, value: await client.lRange(key, 0, -1) });
      if (type === 'hash') keys.push({ ...entry, type, value: await client.hGetAll(key) });
    }
  }
  client.destroy();
  return keys;
}
