/** Monitors with a kept history, each in a process of its own that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from './ask.ts';
import { bundleScript, ROOT } from './bundle-script.ts';
import { atProcessEnd } from './process-end.ts';

/** Shows a Celery deployment with a history in PostgreSQL. */
const CELERY = `
  import express from 'express';
  import pg from 'pg';
  import { createMonitorRouter } from './src/index.ts';
  import { celerySources } from './src/celery.ts';
  import { postgresStore } from './src/postgres.ts';
  const { database, collect, ...options } = JSON.parse(process.env.MONITOR);
  const pool = new pg.Pool({ connectionString: database, max: 4 });
  pool.on('error', () => {});
  const sources = celerySources({ ...options, collect, store: postgresStore(pool) });
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources, authorize: () => true, onError() {} }));
  const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
  process.once('SIGTERM', async () => {
    await sources.close();
    process.exit(0);
  });
`;

/** The deployment that a monitor watches, and where it keeps its history. */
export interface MonitorOptions {
  /** URL of the database. */
  readonly database: string;
  readonly collect: boolean;
  /** Options of `celerySources`. */
  readonly [option: string]: unknown;
}

/** A running monitor. */
export interface MonitorProcess {
  readonly pid: number;
  /** Where its router is mounted. */
  readonly url: string;
  /** Reads a body below `/monitor`; `null`: there is no answer, or it is an error. */
  get<Body>(path: string): Promise<Body | null>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Ends it gracefully. */
  stop(): Promise<void>;
  isRunning(): boolean;
}

/** Errors of a connection to a process that has ended. */
const LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/** Starts one of a Celery deployment; resolves once it answers. */
export async function startMonitor(options: MonitorOptions): Promise<MonitorProcess> {
  return startMonitorProcess(CELERY, options);
}

/**
 * Starts one; resolves once it answers.
 *
 * @param script takes the options from `MONITOR`, and prints the port
 * @param node runs the script. Default: the one that runs the tests
 */
export async function startMonitorProcess(
  script: string,
  options: Readonly<Record<string, unknown>>,
  node = process.execPath,
): Promise<MonitorProcess> {
  const bundled = await bundleScript(script);
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.cache', 'monitor-'));
  const program = join(folder, 'monitor.mjs');
  writeFileSync(program, bundled);
  const child = spawn(node, [program], {
    cwd: ROOT,
    env: { ...process.env, MONITOR: JSON.stringify(options) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.once(
    'exit',
    atProcessEnd(() => child.kill('SIGKILL')),
  );
  const port = await portOf(child).finally(() => rmSync(folder, { recursive: true, force: true }));
  const url = `http://127.0.0.1:${port}/monitor`;
  return {
    pid: child.pid ?? 0,
    url,
    async get<Body>(path: string) {
      try {
        const { status, body } = await ask<Body>(url, path);
        return status === 200 ? body : null;
      } catch (error) {
        // It has just been killed.
        if (LOST.includes(String((error as { readonly code?: unknown }).code))) return null;
        throw error;
      }
    },
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
    isRunning: () => child.exitCode === null && child.signalCode === null,
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The monitor ended with ${code}: ${output}`)));
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
      const port = /port (\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
