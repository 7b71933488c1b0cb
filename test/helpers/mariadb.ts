import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { atProcessEnd } from './process-end.ts';
import { freePort, untilSaid } from './redis-server.ts';

const SERVER = '/usr/sbin/mariadbd';
const INSTALL = '/usr/bin/mariadb-install-db';

/** Why tests that need MariaDB cannot run here; `null` when they can. */
export const mariadbMissing: string | null =
  existsSync(SERVER) && existsSync(INSTALL) ? null : 'install mariadb-server';

/** A private MariaDB on a free port of loopback. Its user `root` has no password. */
export interface MariadbServer {
  readonly port: number;
  /** Runs one statement as `root`, by default in the database `mysql`. @returns its rows */
  query(text: string, database?: string): Promise<readonly object[]>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** Starts a MariaDB that has no data yet: takes about three seconds. */
export async function startMariadb(): Promise<MariadbServer> {
  const directory = mkdtempSync(join(tmpdir(), 'monitor-mariadb-'));
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const common = ['--no-defaults', `--datadir=${directory}`, ...user];
  const options = ['--auth-root-authentication-method=normal', '--skip-test-db'];
  const made = spawnSync(INSTALL, [...common, ...options], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`mariadb-install-db ended with ${made.status}: ${made.stderr}`);
  const port = await freePort();
  const child = spawn(
    SERVER,
    [...common, ...SMALL, `--port=${port}`, `--socket=${join(directory, 'socket')}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const forget = atProcessEnd(() => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  await untilSaid(child, 'ready for connections', child.stderr);
  return {
    port,
    async query(text, database = 'mysql') {
      const connection = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root', database });
      try {
        const [rows] = await connection.query(text);
        return rows as readonly object[];
      } finally {
        await connection.end();
      }
    },
    async close() {
      await end(child);
      forget();
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Little memory, and no waiting for the disk. */
const SMALL = [
  '--bind-address=127.0.0.1',
  '--innodb-buffer-pool-size=16M',
  '--innodb-flush-log-at-trx-commit=0',
  '--performance-schema=OFF',
  '--skip-log-bin',
];

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
}
