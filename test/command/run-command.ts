/** Runs the command of the packed library in a project of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { endWithProcess } from '../helpers/redis-server.ts';
import { installed, pack } from '../packaging/packed.ts';

const NEEDED = ['croner', 'debug'];

/** The command while it runs. */
export interface Run {
  readonly child: ChildProcess;
  /** What it has printed so far, errors included. */
  printed(): string;
}

/** @param packages what the project has installed beside the library */
export function runCommand(
  packages: readonly string[],
  words: readonly string[],
  environment: object = {},
): Run {
  const project = pack().consumer({
    files: {},
    packages: Object.fromEntries([...NEEDED, ...packages].map((name) => [name, installed(name)])),
  });
  const file = join(project, 'node_modules/express-task-monitor/dist/command.js');
  const child = spawn(process.execPath, [file, ...words], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithProcess(child);
  let printed = '';
  child.stdout?.on('data', (text) => (printed += text));
  child.stderr?.on('data', (text) => (printed += text));
  return { child, printed: () => printed };
}
