/** Recipes of our pages, each in a project of its own that has installed the package from npm's tarball. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { atProcessEnd } from '../helpers/process-end.ts';
import { pack, ROOT } from '../packaging/packed.ts';

const run = promisify(execFile);

/** A recipe, and what it needs. */
export interface Recipe {
  /** The page that it is on. Default `docs/hosts.md`. */
  readonly document?: string;
  /** Heading of its section. */
  readonly heading: string;
  /** What titles call it. Default: the heading. */
  readonly name?: string;
  /** Files of the app that the page leaves to its reader, by path. Default: none. */
  readonly app?: Readonly<Record<string, string>>;
  /** Other sections that have files of its project. Default: none. */
  readonly others?: readonly string[];
  /** Recipes of the same name with the same packages share a project, one after another. Default: the heading. */
  readonly project?: string;
  /** Packages that the project installs, with their versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Arguments of Node that start the host. */
  readonly start: readonly string[];
  /** Arguments of Node that build the project before. Default: nothing is built. */
  readonly build?: readonly string[];
  /** The path of the monitor. Default `/monitor`. */
  readonly path?: string;
}

/** A host that runs. */
export interface RunningHost {
  /** Where the monitor is: `http://127.0.0.1:<port>/monitor`. */
  readonly base: string;
  /** The folder of the project. */
  readonly folder: string;
  /** Lets its monotonic clock jump, where `AHEAD` is among its arguments: open streams are then that much older. */
  goAhead(ms: number): void;
  /** Ends the host as process managers do. @returns whether it ended without being killed */
  stop(): Promise<boolean>;
}

const GO_AHEAD = new URL('go-ahead.mjs', import.meta.url).href;

/** Arguments of Node with which a host's clocks can jump. */
export const AHEAD = ['--import', GO_AHEAD];

const OTHER_HOSTS = 'docs/hosts.md';

/** The files of a section: blocks of code that begin with their path in a comment. */
function filesOf(document: string, heading: string): Record<string, string> {
  const sections = readFileSync(join(ROOT, document), 'utf8').split(/^#+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${document} has no section '${heading}'.`);
  const blocks = section.matchAll(/^```\w+\n\/\/ (\S+)\n(.*?)^```$/gms);
  return Object.fromEntries([...blocks].map(([, path = '', text = '']) => [path, text]));
}

/** The files that all recipes share. */
const SHARED = filesOf(OTHER_HOSTS, 'Hosts other than Express');

/** Installs the project of a recipe, and builds it. @returns its folder */
export async function install(recipe: Recipe): Promise<string> {
  const { document = OTHER_HOSTS, heading, app, others = [], project = heading, packages, build } = recipe;
  const { tarball } = pack();
  // Outside the checkout, whose packages nothing here may find.
  const folder = join(dirname(tarball), 'hosts', project.toLowerCase().replaceAll(/\W+/g, '-'));
  const dependencies = { 'express-task-monitor': `file:${tarball}`, ...packages };
  const files: Record<string, string> = {
    'package.json': JSON.stringify({ private: true, type: 'module', dependencies }),
    ...SHARED,
    ...app,
    ...Object.assign({}, ...[...others, heading].map((section) => filesOf(document, section))),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...flags], { cwd: folder, env: environment() });
  if (build !== undefined) await runNode(build, folder);
  return folder;
}

/** Runs Node in a project. */
export async function runNode(args: readonly string[], folder: string): Promise<void> {
  await run(process.execPath, args, { cwd: folder, env: environment() });
}

/**
 * Starts the host of a recipe.
 *
 * @param settings environment variables of its own
 */
export async function start(
  { start: args, path = '/monitor' }: Recipe,
  folder: string,
  settings: NodeJS.ProcessEnv = {},
): Promise<RunningHost> {
  const port = Number(settings.PORT ?? (await freePort()));
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: environment({ PORT: String(port), HOSTNAME: '127.0.0.1', ...settings }),
    // Some hosts behave in another way where there is a channel.
    stdio: ['ignore', 'pipe', 'pipe', ...(args.includes(GO_AHEAD) ? (['ipc'] as const) : [])],
  });
  const forget = atProcessEnd(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  const base = `http://127.0.0.1:${port}${path}`;
  await untilAnswered(base, child, () => output);
  return {
    base,
    folder,
    goAhead: (ms) => void child.send(ms),
    async stop() {
      // Some hosts end by the signal itself, once they have closed.
      const isRunning = child.exitCode === null && child.signalCode === null;
      const ended = isRunning ? once(child, 'exit') : null;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(kill);
      forget();
      return child.signalCode !== 'SIGKILL';
    },
  };
}

/** Without what tests of this checkout set. */
function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter(
    (name) => !/^(?:NODE_ENV|NODE_OPTIONS|VITEST|TEST$)/.test(name),
  );
  return { ...Object.fromEntries(names.map((name) => [name, process.env[name]])), ...more };
}

/** @returns a port that is free now */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Resolves once anything answers there. */
async function untilAnswered(url: string, child: ChildProcess, output: () => string): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const response = await fetch(`${url}/healthcheck`).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    if (child.exitCode !== null || performance.now() > end) throw new Error(`No host: ${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
