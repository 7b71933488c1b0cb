import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { HealthBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { type Run, runCommand } from './run-command.ts';

const redis = redisMissing === null ? await startRedis() : null;
afterAll(() => redis?.close());
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function run(...args: Parameters<typeof runCommand>): Run {
  const started = runCommand(...args);
  children.push(started.child);
  return started;
}

/** Where it serves. */
async function addressOf({ child, printed }: Run): Promise<string> {
  for (;;) {
    const address = /http:\/\/\S+/.exec(printed())?.[0];
    if (address !== undefined) return address;
    if (child.exitCode !== null) throw new Error(printed());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

describe('express-task-monitor, the command', () => {
  it.skipIf(redis === null)(
    titleUnless(
      redisMissing,
      'serves page and API of a Celery broker to this machine, and ends when told to',
    ),
    async () => {
      const monitor = run(['redis'], ['--port', '0', redis?.url(0) ?? '']);
      const address = await addressOf(monitor);
      const page = await ask(address, '/');
      expect([page.status, page.text.slice(0, 15)]).toEqual([200, '<!doctype html>']);
      // It has connected by then, or soon.
      await vi.waitFor(async () => expect((await ask(address, '/api/tasks/')).status).toBe(200), 45_000);
      const refused = await ask(address, '/', { headers: { host: 'evil.example.org' }, ours: false });
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('--name')]);
      monitor.child.kill('SIGTERM');
      const [code] = await once(monitor.child, 'exit');
      expect([code, monitor.printed()]).toEqual([0, expect.not.stringContaining('Warning')]);
    },
  );

  it.skipIf(redis === null)(titleUnless(redisMissing, 'shows BullMQ, behind a password'), async () => {
    const words = ['--bullmq', '--port', '0', '--host', '127.0.0.1'];
    const environment = { TASK_MONITOR_URL: redis?.url(1), TASK_MONITOR_PASSWORD: 'open sesame' };
    const address = await addressOf(run(['ioredis'], words, environment));
    expect((await ask(address, '/api/tasks/')).status).toBe(401);
    expect((await ask(address, '/api/tasks/', { headers: basic('monitor:wrong') })).status).toBe(401);
    // It connects at the first request.
    await vi.waitFor(async () => {
      expect((await ask(address, '/api/tasks/', { headers: basic('monitor:open sesame') })).status).toBe(200);
    }, 45_000);
    const detailsFor = async (headers: object): Promise<unknown> => {
      const { body } = await ask<HealthBody>(address, '/healthcheck', { headers: { ...headers } });
      return body.checks.broker?.latency_ms;
    };
    expect(await detailsFor(basic('monitor:open sesame'))).toEqual(expect.any(Number));
    expect(await detailsFor({})).toBeNull();
  });

  it.each([
    [[], ['redis://127.0.0.1:1/0'], 'The package "redis" is missing.'],
    [[], ['amqp://127.0.0.1//'], 'The package "amqplib" is missing.'],
    [[], ['--bullmq', 'redis://127.0.0.1:1/0'], 'The package "ioredis" is missing.'],
    [['redis'], ['http://127.0.0.1/'], "'broker' begins with http:"],
    [
      ['redis'],
      ['--host', '192.0.2.1', '--no-auth', 'redis://127.0.0.1:1/0'],
      'is not an address of this machine',
    ],
  ])('with %j for %j says what is wrong', async (packages, words, message) => {
    const { child, printed } = run(packages, words);
    const [code] = await once(child, 'close');
    expect([code, printed()]).toEqual([2, expect.stringContaining(message)]);
    expect(printed()).not.toContain('    at ');
  });
});
