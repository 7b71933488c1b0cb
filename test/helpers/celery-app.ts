/** The Celery app in `test/celery/app`, run by Debian's Celery. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CelerySettings } from '../../src/celery.ts';
import { endWithProcess } from './redis-server.ts';

const PYTHON = process.env.CELERY_PYTHON ?? '/usr/bin/python3';
const FOLDER = new URL('../celery/app/', import.meta.url).pathname;

/** Why tests that need Celery cannot run here; `null` when they can. */
export const celeryMissing: string | null =
  spawnSync(PYTHON, ['-c', 'import celery, redis']).status === 0
    ? null
    : 'install python3-celery and python3-redis';

/** What the submitting client knows of a task in the end. */
export interface Submitted {
  readonly id: string;
  readonly name: string;
  /** Its true state. */
  readonly state: string;
  /** What the result backend tells the client. */
  readonly client: string;
  readonly parent?: string | null;
  /** No event tells of it, and of the result backend only an extended result names it. */
  readonly never_ran?: boolean;
}

/** A running deployment. */
export interface CeleryApp {
  /** Starts a worker; resolves when it takes tasks. */
  worker(...args: string[]): Promise<void>;
  /** Sends 500 tasks and waits for their ends. */
  submit(): Promise<Submitted[]>;
  /** Ends every worker. */
  close(): Promise<void>;
}

/** @param settings the app's configuration */
export function celeryApp(settings: CelerySettings): CeleryApp {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-celery-'));
  const children: ChildProcess[] = [];
  const options = {
    cwd: FOLDER,
    env: {
      ...process.env,
      SHOP_CONFIG: JSON.stringify(settings),
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUNBUFFERED: '1',
      // The Debian image runs tests as root.
      C_FORCE_ROOT: '1',
    },
  };

  function run(args: string[]): {
    child: ChildProcess;
    ended: Promise<string>;
    ready(text: string): Promise<void>;
  } {
    const child = spawn(PYTHON, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    endWithProcess(child);
    let output = '';
    let errors = '';
    let look: () => void = () => {};
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
      look();
    });
    child.stderr.on('data', (chunk) => {
      errors += String(chunk);
      look();
    });
    const ended = new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        if (code === 0) resolve(output);
        else reject(new Error(`${args.slice(0, 3).join(' ')} ended with ${code}: ${errors.slice(-2000)}`));
      });
    });
    ended.catch(() => {});
    const ready = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        look = () => {
          if (output.includes(text) || errors.includes(text)) resolve();
        };
        ended.then(() => reject(new Error(`The worker ended: ${errors.slice(-2000)}`)), reject);
      });
    return { child, ended, ready };
  }

  return {
    async worker(...args) {
      const database = join(folder, `state-${children.length}`);
      const line = [
        '-m',
        'celery',
        '-A',
        'shop',
        'worker',
        '-E',
        '--loglevel',
        'INFO',
        '--statedb',
        database,
      ];
      await run([...line, ...args]).ready(' ready.');
    },
    async submit() {
      return JSON.parse(await run(['submit.py']).ended) as Submitted[];
    },
    async close() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const exited = new Promise((resolve) => child.once('exit', resolve));
          child.kill('SIGTERM');
          const impatient = setTimeout(() => child.kill('SIGKILL'), 10_000);
          await exited;
          clearTimeout(impatient);
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
