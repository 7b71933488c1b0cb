/** The Celery app in `test/celery/app`, run by the Celery of Debian, or another. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CelerySettings } from '../../src/celery.ts';
import { PYTHON } from './engines.ts';
import { atProcessEnd } from './process-end.ts';

const FOLDER = new URL('../celery/app/', import.meta.url).pathname;

/** Every file that uses Celery looks for it: finding a package is quicker than importing it. */
const FIND =
  "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ['celery', 'redis'])))";

/** Why tests that need Celery cannot run here; `null` when they can. */
export const celeryMissing: string | null =
  spawnSync(PYTHON, ['-c', FIND]).status === 0
    ? null
    : 'install python3-celery and python3-redis, or name a Python in TASK_MONITOR_PYTHON';

/** What the submitting client knows about a task at the end. */
export interface Submitted {
  readonly id: string;
  readonly name: string;
  /** Its true state. */
  readonly state: string;
  /** The state that the result backend reports to the client. */
  readonly client: string;
  readonly parent?: string | null;
  /** No event reports it, and in the result backend only an extended result names it. */
  readonly never_ran?: boolean;
}

/** A task to send, with options of `apply_async`. */
export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly queue?: string;
  readonly countdown?: number;
}

/** A running worker. */
export interface CeleryWorker {
  /** Ends it at once, as a crash does; its pool goes with it. */
  kill(): Promise<void>;
  /** Ends it gracefully: running tasks are finished first. */
  stop(): Promise<void>;
  /** Everything it has written. */
  output(): string;
}

/** A running deployment. */
export interface CeleryApp {
  /** Starts a worker that sends task events (`-E`); resolves when it takes tasks. */
  worker(...args: string[]): Promise<CeleryWorker>;
  /** Starts a worker with these arguments alone. */
  plainWorker(...args: string[]): Promise<CeleryWorker>;
  /** Starts another process of the app (`beat`); resolves once it has written `ready`. */
  process(ready: string, ...args: string[]): Promise<CeleryWorker>;
  /** Starts a Python program of the app's folder; resolves once it has written `ready`. */
  program(ready: string, file: string): Promise<CeleryWorker>;
  /** Runs a Python program of the app's folder to its end and reads the JSON that it prints. */
  script(file: string, ...args: string[]): Promise<unknown>;
  /** Sends these tasks from one process; resolves once they are sent. */
  send(...calls: readonly Call[]): Promise<void>;
  /** Sends 500 tasks and waits for their ends. */
  submit(): Promise<Submitted[]>;
  /** Ends every worker. */
  close(): Promise<void>;
}

/**
 * @param settings the app's configuration
 * @param module the app's module in `test/celery/app`
 */
export function celeryApp(settings: CelerySettings, module = 'shop'): CeleryApp {
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
    written(): string;
  } {
    // A process group of its own, so that a pool ends with its worker.
    const child = spawn(PYTHON, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    children.push(child);
    endGroupWithProcess(child);
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
    return { child, ended, ready, written: () => output + errors };
  }

  async function process_(ready: string, args: string[]): Promise<CeleryWorker> {
    const started = run(args);
    await started.ready(ready);
    const { child, written } = started;
    return {
      kill: () => end(child, 'SIGKILL'),
      stop: () => end(child, 'SIGTERM'),
      output: written,
    };
  }

  const command = (ready: string, args: string[]): Promise<CeleryWorker> =>
    process_(ready, ['run_celery.py', '-A', module, ...args]);

  function plainWorker(...args: string[]): Promise<CeleryWorker> {
    const database = join(folder, `state-${children.length}`);
    return command(' ready.', ['worker', '--loglevel', 'INFO', '--statedb', database, ...args]);
  }

  async function script(file: string, ...args: string[]): Promise<unknown> {
    return JSON.parse(await run([file, ...args]).ended);
  }

  return {
    worker: (...args) => plainWorker('-E', ...args),
    plainWorker,
    process: (ready, ...args) => command(ready, args),
    program: (ready, file) => process_(ready, [file]),
    script,
    async send(...calls) {
      const each = `${module}.app.tasks[call.pop('name')].apply_async(**call)`;
      await script(
        '-c',
        `import json, sys, ${module}\nfor call in json.loads(sys.argv[1]): ${each}\nprint(0)`,
        JSON.stringify(calls),
      );
    },
    submit: async () => (await script('submit.py')) as Submitted[],
    async close() {
      await Promise.all(children.map((child) => end(child, 'SIGTERM')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ends a process; one that does not go within ten seconds is killed with its whole group. */
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  if (signal === 'SIGKILL') killGroup(child);
  else child.kill(signal);
  const impatient = setTimeout(() => killGroup(child), 10_000);
  await exited;
  clearTimeout(impatient);
}

function endGroupWithProcess(child: ChildProcess): void {
  child.once(
    'exit',
    atProcessEnd(() => killGroup(child)),
  );
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
