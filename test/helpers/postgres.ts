import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { engineProgram } from './engines.ts';
import { atProcessEnd } from './process-end.ts';
import { freePort, untilSaid } from './redis-server.ts';

/** Where Debian puts each version of PostgreSQL. */
const DEBIAN = '/usr/lib/postgresql';

/** The user that runs the server if the tests run as root, which PostgreSQL refuses. */
const USER = 'postgres';

/** The folder of the programs: `POSTGRES_BIN`, or that of the newest version of Debian; `null`: there is none. */
function findPrograms(): string | null {
  const initdb = engineProgram('initdb');
  const given = initdb === null ? process.env.POSTGRES_BIN : dirname(initdb);
  if (given !== undefined) return given;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number).filter(Number.isInteger) : [];
  const folders = versions.toSorted((a, b) => b - a).map((version) => join(DEBIAN, String(version), 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

const programs = findPrograms();

/** Why tests that need PostgreSQL cannot run here; `null` when they can. */
export const postgresMissing: string | null = programs === null ? 'install postgresql' : null;

/** How a PostgreSQL is started. */
export interface PostgresOptions {
  /** Whether it waits for the disk, as a real one does. Default false, which is much faster. */
  readonly fsync?: boolean;
  /** More of its settings, such as `{ max_connections: 20 }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** A private PostgreSQL on a free port of loopback. Clients connect as any role, without a password. */
export interface PostgresServer {
  readonly port: number;
  /** Where it keeps its data. */
  readonly directory: string;
  /** `postgres://<role>@127.0.0.1:<port>/<database>`; default: the superuser `postgres`, in the database `postgres` */
  url(database?: string, role?: string): string;
  /** Runs a statement, or several without values, as the superuser. @returns its rows */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[], database?: string): Promise<Row[]>;
  /** Creates an empty database. @returns its URL, for the superuser */
  createDatabase(name: string): Promise<string>;
  /** Creates a role that may log in. */
  createRole(name: string): Promise<void>;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
  /** Shuts it down: connections are closed and everything is written. */
  stop(): Promise<void>;
  /** Ends it and all its connections at once, as a crash does. */
  kill(): Promise<void>;
  /** Stops and continues it: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** Starts a PostgreSQL that has no data yet: takes about a second. */
export async function startPostgres({
  fsync = false,
  settings = {},
}: PostgresOptions = {}): Promise<PostgresServer> {
  if (programs === null) throw new Error('install postgresql');
  const folder = ownFolder('monitor-postgres-');
  const directory = join(folder, 'data');
  makeData(join(programs, 'initdb'), directory);
  const lines = Object.entries({ ...(fsync ? {} : UNSAFE), ...SMALL, ...settings });
  const server = new Postgres(join(programs, 'postgres'), folder, directory, [
    '-D',
    directory,
    ...lines.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  await server.startSomewhere();
  return server;
}

/** Loses data when the machine crashes, but not when the server does. */
const UNSAFE = { fsync: 'off', full_page_writes: 'off' };

/** Many of them may run at a time. */
const SMALL = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  lc_messages: 'C',
};

function makeData(initdb: string, directory: string): void {
  const options = ['--no-sync', '--no-locale', '--encoding=UTF8', '--auth=trust', `--username=${USER}`];
  const [command, ...line] = asUser(initdb, [...options, '-D', directory]);
  const { status, stderr } = spawnSync(command, line, { encoding: 'utf8', cwd: tmpdir() });
  if (status !== 0) throw new Error(`initdb ended with ${status}: ${stderr}`);
}

class Postgres implements PostgresServer {
  port = 0;
  readonly directory: string;
  readonly #program: string;
  readonly #folder: string;
  readonly #line: readonly string[];
  #child: ChildProcess | null = null;
  readonly #forget: () => void;

  constructor(program: string, folder: string, directory: string, line: readonly string[]) {
    this.#program = program;
    this.#folder = folder;
    this.directory = directory;
    this.#line = line;
    this.#forget = atProcessEnd(() => {
      this.#signal('SIGKILL');
      this.#remove();
    });
  }

  url(database = 'postgres', role = USER): string {
    return `postgres://${role}@127.0.0.1:${this.port}/${database}`;
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values?: unknown[],
    database?: string,
  ): Promise<Row[]> {
    const client = new pg.Client(this.url(database));
    await client.connect();
    try {
      const { rows } = await client.query<Row>(text, values);
      return rows;
    } finally {
      await client.end();
    }
  }

  async createDatabase(name: string): Promise<string> {
    await this.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    return this.url(name);
  }

  async createRole(name: string): Promise<void> {
    await this.query(`CREATE ROLE ${pg.escapeIdentifier(name)} LOGIN`);
  }

  async start(): Promise<void> {
    const child = spawnAsUser(this.#program, [...this.#line, '-p', String(this.port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    this.#child = child;
    await untilSaid(child, 'database system is ready to accept connections', child.stderr);
  }

  /** Between finding a port and listening on it, another process may have taken it. */
  async startSomewhere(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.port = await freePort();
      try {
        return await this.start();
      } catch (error) {
        if (attempt === 3) throw error;
      }
    }
  }

  /** SIGINT: PostgreSQL closes all connections and shuts down. */
  stop = (): Promise<void> => this.#end('SIGINT');
  kill = (): Promise<void> => this.#end('SIGKILL');
  freeze = (): void => this.#signal('SIGSTOP');
  thaw = (): void => this.#signal('SIGCONT');

  async close(): Promise<void> {
    await this.kill();
    this.#forget();
    this.#remove();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    this.thaw();
    if (signal === 'SIGKILL') this.#signal(signal);
    else child.kill(signal);
    await exited;
    this.#child = null;
  }

  /** To the server and the process of each connection, which is in a group of its own. */
  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#child?.exitCode !== null) return;
    for (const one of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(one, signal);
      } catch {
        // It has ended by itself.
      }
    }
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    // Not Linux: connections end by themselves once their server is gone.
    return [];
  }
}

const isRoot = process.getuid?.() === 0;

/** A new folder that the server may write to. */
export function ownFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'));
  return folder;
}

function idOf(flag: '-u' | '-g'): number {
  return Number(spawnSync(engineProgram('id') ?? 'id', [flag, USER], { encoding: 'utf8' }).stdout);
}

/** The command line of a program that refuses to run as root; one of a set of engines changes the user itself. */
function asUser(program: string, args: readonly string[]): [string, ...string[]] {
  return isRoot && engineProgram('postgres') === null
    ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', program, ...args]
    : [program, ...args];
}

/** Starts a program that refuses to run as root. */
export function spawnAsUser<Options extends SpawnOptions>(
  program: string,
  args: readonly string[],
  options: Options,
) {
  const [command, ...line] = asUser(program, args);
  return spawn(command, line, { ...options, cwd: tmpdir() });
}
