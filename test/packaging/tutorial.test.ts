import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TaskDetailBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { PYTHON } from '../helpers/engines.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { atProcessEnd } from '../helpers/process-end.ts';
import { freePort, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { codeBlocks } from './code-blocks.ts';
import { installed, pack } from './packed.ts';

const PAGE = 'docs/tutorial.md';
const missing = redisMissing ?? celeryMissing ?? sqliteMissing;
const headers = { authorization: `Basic ${Buffer.from('ops:change-me').toString('base64')}` };

/** Lines of commands that readers do in another way here, and those that run until Ctrl+C. */
const isInstallation = (line: string): boolean => /^(?:npm|pip) install /.test(line);
const isServer = (line: string): boolean => / worker | ?node /.test(` ${line} `);

/** Packages that are there once the page has been followed, besides ours. */
function installedPackages(): string[] {
  const lines = codeBlocks(PAGE).flatMap(({ text }) => text.split('\n'));
  const names = lines.flatMap((line) => /^npm install (.*)$/.exec(line)?.[1]?.split(' ') ?? []);
  expect(names).toContain('express-task-monitor');
  const manifest = readFileSync(join(pack().folder, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { readonly dependencies: object };
  return [...Object.keys(dependencies), ...names.filter((name) => name !== 'express-task-monitor')];
}

/** Follows the page in an empty folder, with a Redis, a port, a Node and a Python of its own. */
async function startReader() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const port = await freePort();
  const base = `http://127.0.0.1:${port}/monitor`;
  const packages = Object.fromEntries(installedPackages().map((name) => [name, installed(name)]));
  const folder = pack().consumer({ files: {}, packages });
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  for (const [name, command] of [
    ['celery', `${PYTHON} -m celery`],
    ['node', sqliteNode],
  ] as const) {
    writeFileSync(join(programs, name), `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(join(programs, name), 0o755);
  }
  const env = {
    ...process.env,
    PATH: `${programs}${delimiter}${process.env.PATH}`,
    // The Debian image runs tests as root.
    C_FORCE_ROOT: '1',
  };
  let server: ChildProcess | null = null;

  function start(line: string): ChildProcess {
    // A process group of its own, so that the pool of a worker ends with it.
    const child = spawn('sh', ['-c', `exec env ${line}`], {
      ...{ cwd: folder, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const kill = (): void => {
      if (child.exitCode === null && child.signalCode === null && child.pid)
        process.kill(-child.pid, 'SIGKILL');
    };
    child.once('exit', atProcessEnd(kill));
    onTestFinished(kill);
    return child;
  }

  /** Ctrl+C in the terminal of the app. */
  async function stop(): Promise<void> {
    if (server === null) return;
    const exit = once(server, 'exit');
    server.kill('SIGINT');
    await exit;
  }

  /** What the monitor shows of a task. */
  const seen = async (id: string): Promise<TaskDetailBody | null> => {
    const answer = await ask<TaskDetailBody>(base, `/api/tasks/${id}/`, { headers }).catch(() => null);
    return answer?.status === 200 ? answer.body : null;
  };

  /** Types a line and waits for what the reader sees then: its end, the end of the task it sends, or the worker. */
  async function type(line: string): Promise<void> {
    if (isInstallation(line)) return;
    const child = start(line);
    let [output, errors] = ['', ''];
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
    });
    child.stderr?.on('data', (chunk) => {
      errors += String(chunk);
    });
    if (!isServer(line)) {
      const [code] = (await once(child, 'close')) as [number | null];
      expect([line, code, code === 0 ? '' : errors]).toEqual([line, 0, '']);
      if (!/ call /.test(line)) return;
      // The worker sends its events a moment after the result.
      await until(async () => (await seen(output.trim()))?.timeline.length === 3);
      return;
    }
    if (!line.includes('node ')) return;
    server = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(errors);
      const workers = await ask<Partial<WorkersBody>>(base, '/api/workers/', { headers }).catch(() => null);
      return workers?.body.workers?.some(({ status }) => status === 'online') === true;
    });
  }

  return {
    base,
    /** Does what a section of the page says. */
    async follow(section: string): Promise<void> {
      const blocks = codeBlocks(PAGE).filter((block) => block.section === section);
      expect(blocks).not.toEqual([]);
      for (const { text: written } of blocks) {
        const text = written
          .replaceAll('localhost:6379', `127.0.0.1:${redis.port}`)
          .replaceAll('listen(3000,', `listen(${port},`);
        const path = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(text)?.[1];
        if (path !== undefined) writeFileSync(join(folder, path), text);
        else {
          for (const line of text.trim().split('\n')) {
            if (line.includes('node ')) await stop();
            await type(line);
          }
        }
      }
    },
  };
}

describe('the tutorial', () => {
  it.skipIf(missing !== null)(
    titleUnless(missing, 'leads to a monitor that shows tasks, asks for a password and keeps its history'),
    async () => {
      const reader = await startReader();
      const { base } = reader;
      const answer = <Body>(path: string, given = {}) =>
        ask<Body>(base, path, { headers: given }).catch(() => null);
      const tasks = async (given = {}) => (await answer<TasksBody>('/api/tasks/', given))?.body.tasks ?? [];
      const states = async (given = {}) => (await tasks(given)).map(({ state }) => state).toSorted();

      await reader.follow('1. A Celery app');
      await reader.follow('2. The monitor');
      await until(async () => (await states()).join() === 'FAILURE,SUCCESS');
      const failed = (await tasks()).find(({ state }) => state === 'FAILURE');
      const { body: task } = await ask<TaskDetailBody>(base, `/api/tasks/${failed?.task_id}/`);
      expect(task).toMatchObject({
        ...{ name: 'tasks.divide', args: expect.stringMatching(/1, 0/) },
        traceback: expect.stringContaining('ZeroDivisionError'),
      });
      expect(task.timeline.map(({ state }) => state)).toEqual(['RECEIVED', 'STARTED', 'FAILURE']);
      const { body: workers } = await ask<WorkersBody>(base, '/api/workers/');
      expect(workers.workers.map(({ status }) => status)).toEqual(['online']);

      await reader.follow('3. A password');
      await until(async () => (await answer('/api/tasks/'))?.status === 401);
      await until(async () => (await states(headers)).length === 2);
      expect((await tasks(headers)).map(({ name }) => name)).toEqual([null, null]);

      await reader.follow('4. A store');
      await until(async () => (await states(headers)).length === 3);
      const kept = (await tasks(headers)).find(({ name }) => name === 'tasks.divide');
      const { body: last } = await ask<TaskDetailBody>(base, `/api/tasks/${kept?.task_id}/`, { headers });
      expect(last).toMatchObject({ args: expect.stringMatching(/9, 3/), state: 'SUCCESS' });
      expect(last.timeline.map(({ state }) => state)).toEqual(['RECEIVED', 'STARTED', 'SUCCESS']);
    },
    180_000,
  );
});
