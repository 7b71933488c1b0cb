/** Apps with the oldest versions of the clients that the package works with. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { received } from '../helpers/celery-events.ts';
import { TOOLS } from '../helpers/other-node.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { installed, pack } from './packed.ts';

const run = promisify(execFile);
const packed = pack();

/** Prints what `look` resolves to, once it is something. */
const PRINT = `
async function printOnce(look) {
  let found = null;
  for (let tries = 0; tries < 1_000 && found === null; tries += 1) {
    found = await look().catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  console.log(JSON.stringify(found));
}
const context = { signal: new AbortController().signal };
`;

const CELERY = `
import { createClient } from 'redis';
import { celerySources } from 'express-task-monitor/celery';
${PRINT}
const client = createClient({ url: process.env.REDIS_URL });
await client.connect();
const { tasks, close } = celerySources({ broker: process.env.REDIS_URL });
await printOnce(async () => {
  await client.publish('/0.celeryev/task.received', process.env.MESSAGE);
  const task = await tasks.getTask('pay-1', context);
  return task && { name: task.name, state: task.state };
});
await close();
client.destroy();
`;

const BULLMQ = `
import { Queue, Worker } from 'bullmq';
import { bullmqSources } from 'express-task-monitor/bullmq';
${PRINT}
const { hostname: host, port } = new URL(process.env.REDIS_URL);
const connection = { host, port: Number(port) };
const queue = new Queue('mail', { connection });
const worker = new Worker('mail', async () => 'sent', { connection });
await queue.add('mail.send', { to: 'ann' });
const { tasks, close } = bullmqSources({ queues: [queue] });
await printOnce(async () => {
  const { tasks: [task] } = await tasks.listTasks(${JSON.stringify(queryOf())}, context);
  return task?.state === 'SUCCESS' ? { name: task.name, state: task.state } : null;
});
await close();
await worker.close();
await queue.close();
`;

/** What it prints, in a project that has these packages, too. */
async function printed(program: string, packages: Readonly<Record<string, string>>): Promise<unknown> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const project = packed.consumer({
    files: { 'app.mjs': program },
    packages: { debug: installed('debug'), croner: installed('croner'), ...packages },
  });
  const { stdout } = await run(process.execPath, ['--unhandled-rejections=strict', 'app.mjs'], {
    cwd: project,
    env: { ...process.env, REDIS_URL: redis.url(), MESSAGE: received('pay-1') },
    timeout: 50_000,
  });
  return JSON.parse(stdout);
}

const bullmq = join(TOOLS, 'bullmq50');
const withoutBullMQ =
  redisMissing ?? (existsSync(bullmq) ? null : '.ci/run installs other versions of BullMQ');

describe('an app that has the packed package installed', () => {
  it.skipIf(redisMissing)(titleUnless(redisMissing, 'hears of tasks of Celery through redis 5'), async () => {
    const task = await printed(CELERY, { redis: installed('redis5') });
    expect(task).toEqual({ name: 'shop.pay', state: 'RECEIVED' });
  });

  it.skipIf(withoutBullMQ)(titleUnless(withoutBullMQ, 'lists jobs of BullMQ 5.0.0'), async () => {
    const task = await printed(BULLMQ, { bullmq });
    expect(task).toEqual({ name: 'mail.send', state: 'SUCCESS' });
  });
});
