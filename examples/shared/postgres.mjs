import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPort } from './processes.mjs';

/** Where Debian puts its versions of PostgreSQL, of which only the clients are on the path. */
const DEBIAN = '/usr/lib/postgresql';

export const HOW_TO_INSTALL =
  'This example needs PostgreSQL: on Debian apt install postgresql, or give the address of yours as DATABASE_URL.';

/** The folder of PostgreSQL's programs: POSTGRES_BIN, `''` if they are on the path; `null` if there are none. */
export function findPostgres() {
  if (process.env.POSTGRES_BIN) return existsSync(process.env.POSTGRES_BIN) ? process.env.POSTGRES_BIN : null;
  if (spawnSync('initdb', ['--version']).status === 0) return '';
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => b - a) : [];
  const folders = versions.map((version) => join(DEBIAN, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** Starts a PostgreSQL of its own, whose data is removed at the end. @returns its URL */
export async function startPostgres(processes, folder) {
  const programs = findPostgres();
  const home = join(folder, 'postgres');
  const data = join(home, 'data');
  mkdirSync(home);
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const idOf = (flag) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
    for (const path of [folder, home]) chownSync(path, idOf('-u'), idOf('-g'));
  }
  const commandOf = (program, args) =>
    isRoot
      ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args]]
      : [program, args];
  const initdb = ['--username=postgres', '--auth=trust', '--no-sync', '-D', data];
  const { status, stderr } = spawnSync(...commandOf(join(programs, 'initdb'), initdb), { cwd: home });
  if (status !== 0) throw new Error(`initdb: ${stderr}`);
  const port = await findPort();
  const options = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
  const [program, args] = commandOf(join(programs, 'postgres'), [
    ...options,
    '-c',
    'unix_socket_directories=',
  ]);
  processes.start('postgres', program, args, { cwd: home });
  await untilReady(join(programs, 'pg_isready'), port);
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** It accepts connections a moment before it is ready for them. */
async function untilReady(program, port) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (spawnSync(program, ['-h', '127.0.0.1', '-p', String(port)]).status === 0) return;
    await sleep(100);
  }
  throw new Error(`PostgreSQL does not answer on port ${port}.`);
}
