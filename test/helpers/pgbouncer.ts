/** Debian's PgBouncer in front of a PostgreSQL. */
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineProgram } from './engines.ts';
import { ownFolder, spawnAsUser } from './postgres.ts';
import { endWithProcess, freePort, untilSaid } from './redis-server.ts';

/** Debian's folder of servers is not on everybody's path. */
const PATHS = [engineProgram('pgbouncer') ?? 'pgbouncer', '/usr/sbin/pgbouncer'];

const program = PATHS.find((path) => spawnSync(path, ['--version']).status === 0) ?? null;

/** Why tests that need PgBouncer cannot run here; `null` when they can. */
export const pgbouncerMissing: string | null = program === null ? 'install pgbouncer' : null;

/** A private PgBouncer in transaction mode, on a free port of loopback. */
export interface PgBouncer {
  readonly port: number;
  /** `postgres://<role>@127.0.0.1:<port>/<database>`; default role `postgres` */
  url(database: string, role?: string): string;
  close(): Promise<void>;
}

/**
 * Starts one. Each transaction of a client may run on another of its few connections to the server.
 *
 * @param port of the PostgreSQL
 * @param roles that may connect
 * @param connections most connections to the server, for each database and role
 */
export async function startPgBouncer(
  port: number,
  { roles = ['postgres'], connections = 3 }: { roles?: readonly string[]; connections?: number } = {},
): Promise<PgBouncer> {
  if (program === null) throw new Error('install pgbouncer');
  const folder = ownFolder('monitor-pgbouncer-');
  const own = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const roleFile = join(folder, 'roles.txt');
  writeFileSync(roleFile, roles.map((role) => `"${role}" ""\n`).join(''));
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${roleFile}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 200
`,
  );
  for (const path of [file, roleFile]) chmodSync(path, 0o644);
  const child = spawnAsUser(program, [file], { stdio: ['ignore', 'ignore', 'pipe'] });
  endWithProcess(child);
  await untilSaid(child, 'process up', child.stderr);
  return {
    port: own,
    url: (database, role = 'postgres') => `postgres://${role}@127.0.0.1:${own}/${database}`,
    async close() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await exited;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
