import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { type Answer, ask } from '../helpers/ask.ts';

const ROOT = new URL('../../', import.meta.url);

/** An example that runs in a process of its own. */
export interface Example {
  /** Where its monitor answers. */
  readonly base: string;
  /** What it has printed so far. */
  printed(): string;
  /** Ends it as a terminal or a service manager does. */
  end(signal: 'SIGINT' | 'SIGTERM'): Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** How an example is launched with the servers and the app that it needs, as the arguments of Node. */
export const launcher = (name: string): readonly string[] => [
  '--import',
  'tsx',
  'examples/launch/index.ts',
  name,
];

/** Launches an example with the servers that it needs, of which `env` may name some. */
export function launchExample(name: string, env: NodeJS.ProcessEnv = {}): Promise<Example> {
  const none = { REDIS_URL: undefined, AMQP_URL: undefined, DATABASE_URL: undefined };
  return startExample(launcher(name), { ...none, ...env });
}

/**
 * Starts an example on a free port and waits until it says where it answers.
 *
 * @param node which Node; default: this one
 */
export async function startExample(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  node = process.execPath,
): Promise<Example> {
  if (!existsSync(new URL('dist/index.js', ROOT)))
    throw new Error('Examples run what was built: npm run build');
  const child = spawn(node, args, { cwd: ROOT, env: { ...process.env, PORT: '0', ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  onTestFinished(() => kill(child));
  const base = await waitFor(
    () => {
      if (child.exitCode !== null)
        throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${stderr}`);
      return /http:\/\/127\.0\.0\.1:\d+\/monitor\b/.exec(stdout)?.[0];
    },
    (found) => found !== undefined,
  );
  return {
    base: base ?? '',
    printed: () => stdout,
    async end(signal) {
      const exit = once(child, 'exit') as Promise<[number | null]>;
      child.kill(signal);
      const [code] = await exit;
      // On Node 22 and 24 version 3 of http-proxy-middleware calls for the first; Node 22 warns of its SQLite.
      return {
        code,
        stderr: stderr.replaceAll(/^\(node:\d+\) (?:\[DEP0060\]|ExperimentalWarning: SQLite).*\n.*\n/gm, ''),
      };
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const hard = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await exit;
  clearTimeout(hard);
}

/** Asks until the answer satisfies. */
export async function waitFor<T>(
  ask: () => T | Promise<T>,
  good: (value: T) => boolean,
  timeoutMs = 50_000,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (good(value)) return value;
    if (performance.now() > end) throw new Error(`It never came true; the last was ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The eleven paths, for one task. */
function elevenPaths(taskId: string): readonly string[] {
  const task = `/api/tasks/${encodeURIComponent(taskId)}/`;
  return [
    '/healthcheck',
    '/api/components/',
    '/api/tasks/',
    task,
    `${task}relations/`,
    `${task}graph/`,
    `${task}graph/updates/`,
    '/api/workers/',
    '/api/events/latest/',
    '/api/beat/schedules/',
    '/metrics',
  ];
}

/** Asks all eleven routes, for the newest task; each answer is held against openapi.json. */
export async function askAll(base: string): Promise<ReadonlyMap<string, Answer>> {
  const { body } = await ask<TasksBody>(base, '/api/tasks/?limit=1');
  const id = body.tasks[0]?.task_id ?? '';
  expect(id).not.toBe('');
  const answers = new Map<string, Answer>();
  for (const path of elevenPaths(id))
    answers.set(path.replace(encodeURIComponent(id), '{task_id}'), await ask(base, path));
  return answers;
}

/** Status of each answer. */
export function statuses(answers: ReadonlyMap<string, Answer>): Readonly<Record<string, number>> {
  return Object.fromEntries([...answers].map(([path, { status }]) => [path, status]));
}

/** What all eleven routes answer when everything is there. */
export const ALL_WELL = Object.fromEntries(
  elevenPaths('{task_id}').map((path) => [decodeURIComponent(path), 200]),
);
