/**
 * From `npm install` to the first useful page: the README's first snippet in an empty folder, beside a Celery worker
 * that has run tasks. Downloads from the registry.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { celeryApp } from '../test/helpers/celery-app.ts';
import { startRedis } from '../test/helpers/redis-server.ts';
import { codeBlocks } from '../test/packaging/code-blocks.ts';
import { pack } from '../test/packaging/packed.ts';
import { median, printTable } from './table.ts';

const ROUNDS = 5;
const LIST = 'http://127.0.0.1:3000/monitor/api/tasks/';

/** Runs it, and prints how many seconds it took. */
async function timed(title: string, run: () => unknown): Promise<void> {
  const begun = performance.now();
  await run();
  figures.set(title, [...(figures.get(title) ?? []), (performance.now() - begun) / 1_000]);
}

function install(folder: string, cache: string): void {
  mkdirSync(folder);
  const line = ['install', '--cache', cache, tarball, 'express', 'redis'];
  execFileSync('npm', line, { cwd: folder, stdio: 'ignore' });
}

async function untilTask(): Promise<void> {
  for (;;) {
    const answer = await fetch(LIST).catch(() => null);
    if (answer?.ok && ((await answer.json()) as { tasks: unknown[] }).tasks.length > 0) return;
    await sleep(20);
  }
}

const figures = new Map<string, readonly number[]>();
const { tarball } = pack();
const redis = await startRedis();
const celery = celeryApp({ broker_url: redis.url(0), result_backend: redis.url(1) });
await celery.worker();
await celery.send(...[1, 2, 3].map((n) => ({ name: 'shop.add', args: [n, n] })));
const snippet = codeBlocks('README.md').find(({ text }) => text.includes('backend: '))?.text ?? '';
for (let round = 0; round < ROUNDS; round += 1) {
  const place = mkdtempSync(join(tmpdir(), 'first-page-'));
  const [folder, cache] = [join(place, 'app'), join(place, 'cache')];
  await timed('`npm install`, empty cache', () => install(join(place, 'cold'), cache));
  await timed('`npm install`, filled cache', () => install(folder, cache));
  writeFileSync(join(folder, 'app.mjs'), snippet.replaceAll('//localhost:6379', `//127.0.0.1:${redis.port}`));
  const app = spawn(process.execPath, ['app.mjs'], { cwd: folder, stdio: 'inherit' });
  await timed('start of the app to the first task in the list', untilTask);
  app.kill();
  await once(app, 'exit');
  rmSync(place, { recursive: true, force: true });
}
await celery.close();
await redis.close();
const rows = [...figures].map(([title, list]) => [title, median(list), Math.min(...list), Math.max(...list)]);
const shown = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell)));
printTable('From npm install to the first page (seconds)', ['', 'median', 'best', 'worst'], shown);
